package io.waybill.tool;

import io.waybill.api.Caller;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Runs the commands of a worker, as {@code waybill NAME --node NODE} does. Thread-safe.
 *
 * @param caller on behalf of the user
 * @param node the worker that has the commands
 */
public record ToolUser(Caller caller, String node) {

    private static final long LIMIT_NS = TimeUnit.SECONDS.toNanos(100);

    /** Outcome of a run, with all its output. */
    public record Outcome(List<Value> items, long exitCode, String error) {

        public List<String> lines() {
            return items.stream().map(item -> ((Value.Text) item).value()).toList();
        }
    }

    /** Calls a control operation. */
    public Map<Value, Value> call(String operation, Map<String, Value> fields) {
        Request request =
                Request.invocation(node, MessageType.CONTROL_CALL, new Invocation(operation, List.of(), fields));
        try (Response response = caller.call(request)) {
            return ((Value.Dict) response.value()).entries();
        }
    }

    Map<Value, Value> start(String name, boolean json, String... words) {
        Value list = new Value.Items(Arrays.stream(words).map(Value::of).toList());
        return call("tools.run", Map.of("name", Value.of(name), "words", list, "json", Value.of(json)));
    }

    /** Runs a command to its end. */
    public Outcome run(String name, String... words) {
        Map<Value, Value> begun = start(name, false, words);
        if (number(begun, "run") == 0) {
            return new Outcome(List.of(), number(begun, "exit"), text(begun, "error"));
        }
        return outcome(number(begun, "run"));
    }

    /** Reads the rest of a run. */
    Outcome outcome(long run) {
        List<Value> items = new ArrayList<>();
        long untilNs = System.nanoTime() + LIMIT_NS;
        while (untilNs - System.nanoTime() > 0) {
            Map<Value, Value> read = call("tools.read", Map.of("run", Value.of(run)));
            items.addAll(((Value.Items) read.get(Value.of("items"))).values());
            if (read.get(Value.of("done")).equals(Value.of(true))) {
                return new Outcome(items, number(read, "exit"), text(read, "error"));
            }
        }
        throw new AssertionError("run " + run + " of a command at " + node + " does not end; it wrote " + items.size()
                + " lines or documents");
    }

    static long number(Map<Value, Value> fields, String name) {
        return ((Value.Int) fields.get(Value.of(name))).value();
    }

    static String text(Map<Value, Value> fields, String name) {
        return ((Value.Text) fields.get(Value.of(name))).value();
    }
}
