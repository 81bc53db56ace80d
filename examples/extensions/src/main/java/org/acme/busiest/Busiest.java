package org.acme.busiest;

import io.waybill.api.MessageType;
import io.waybill.api.Value;
import io.waybill.api.event.CallEvent;
import io.waybill.api.event.CallEvents;
import io.waybill.api.tool.ToolCommand;
import io.waybill.api.tool.ToolDescription;
import io.waybill.api.tool.ToolFailedException;
import io.waybill.api.tool.ToolRun;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.osgi.service.component.annotations.Component;

/** {@code waybill busiest}: calls and errors per second of each operation that the node serves. */
@Component
public final class Busiest implements ToolCommand, CallEvents {

    private static final int MAX_OPERATIONS = 1_000; // callers choose the names

    private final Map<String, Row> rows = new ConcurrentHashMap<>();

    private record Row(LongAdder calls, LongAdder errors) {}

    private record Counts(long calls, long errors) {}

    @Override
    public void onEvent(CallEvent event) {
        if (event.kind() == CallEvent.Kind.RESPONDED && event.type() != MessageType.CONTROL_CALL) {
            Row row = rows.get(event.operation());
            if (row == null) {
                String name = rows.size() < MAX_OPERATIONS ? event.operation() : "(others)";
                row = rows.computeIfAbsent(name, added -> new Row(new LongAdder(), new LongAdder()));
            }
            row.calls().increment();
            if (event.error() != null) {
                row.errors().increment();
            }
        }
    }

    @Override
    public ToolDescription description() {
        return ToolDescription.of("busiest", "Shows calls and errors per second of each operation.")
                .option("--every", "SECONDS", "Time between two lists; 1.")
                .option("--times", "N", "Number of lists; without it, until the command is ended.")
                .limit(Duration.ZERO);
    }

    @Override
    public void run(ToolRun run) throws ToolFailedException {
        int seconds = number(run, "--every", 1);
        int times = number(run, "--times", Integer.MAX_VALUE);
        Map<String, Counts> before = counts();
        for (int i = 0; i < times && run.pause(Duration.ofSeconds(seconds)); i++) {
            Map<String, Counts> now = counts();
            Value.DictBuilder list = Value.dict();
            if (!run.isJson()) {
                run.line(String.format(Locale.ROOT, "%-40s %10s %10s", "OPERATION", "CALLS/S", "ERRORS/S"));
            }
            for (Map.Entry<String, Counts> each : now.entrySet()) {
                Counts old = before.getOrDefault(each.getKey(), new Counts(0, 0));
                double calls = (double) (each.getValue().calls() - old.calls()) / seconds;
                double errors = (double) (each.getValue().errors() - old.errors()) / seconds;
                list.put(each.getKey(), Value.list(Value.of(calls), Value.of(errors)));
                if (!run.isJson()) {
                    run.line(String.format(Locale.ROOT, "%-40s %10.1f %10.1f", each.getKey(), calls, errors));
                }
            }
            if (run.isJson()) {
                run.json(list.build());
            }
            before = now;
        }
    }

    private Map<String, Counts> counts() {
        Map<String, Counts> counts = new TreeMap<>();
        rows.forEach((name, row) ->
                counts.put(name, new Counts(row.calls().sum(), row.errors().sum())));
        return counts;
    }

    private static int number(ToolRun run, String option, int fallback) throws ToolFailedException {
        String text = run.option(option).orElse(String.valueOf(fallback));
        if (!text.matches("[1-9][0-9]{0,9}") || Long.parseLong(text) > Integer.MAX_VALUE) {
            throw new ToolFailedException(ToolFailedException.USAGE, option + " is a number from 1, not " + text);
        }
        return Integer.parseInt(text);
    }
}
