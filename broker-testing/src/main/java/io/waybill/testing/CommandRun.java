package io.waybill.testing;

import io.waybill.api.Caller;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.tool.ToolFailedException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Runs a command of the serving worker as {@code waybill} does: by control calls. For one thread. */
final class CommandRun {

    private static final String JSON = "--json";

    private final Caller caller;
    private final Duration timeout;

    CommandRun(Caller caller, Duration timeout) {
        this.caller = caller;
        this.timeout = timeout;
    }

    List<Value> run(String name, List<String> words) throws ToolFailedException {
        List<Value> own =
                words.stream().filter(word -> !word.equals(JSON)).map(Value::of).toList();
        Map<Value, Value> begun = call(
                "tools.run",
                Map.of("name", Value.of(name), "words", new Value.Items(own), "json", Value.of(words.contains(JSON))));
        requireSuccess(begun);
        List<Value> output = new ArrayList<>();
        while (true) {
            Map<Value, Value> read = call("tools.read", Map.of("run", begun.get(Value.of("run"))));
            for (Value item : ((Value.Items) read.get(Value.of("items"))).values()) {
                output.add(
                        item instanceof Value.Tuple document ? document.values().get(0) : item);
            }
            if (read.get(Value.of("done")).equals(Value.of(true))) {
                requireSuccess(read);
                return output;
            }
        }
    }

    private static void requireSuccess(Map<Value, Value> outcome) throws ToolFailedException {
        int code = (int) ((Value.Int) outcome.get(Value.of("exit"))).value();
        if (code != 0) {
            throw new ToolFailedException(code, ((Value.Text) outcome.get(Value.of("error"))).value());
        }
    }

    private Map<Value, Value> call(String operation, Map<String, Value> fields) {
        Invocation invocation = new Invocation(operation, List.of(), fields);
        Request request = Request.invocation(TestBroker.SERVER, MessageType.CONTROL_CALL, invocation);
        try (Response response = caller.call(request.timeout(timeout))) {
            return ((Value.Dict) response.value()).entries();
        }
    }
}
