package io.waybill.autograd;

import io.waybill.api.MessageId;
import io.waybill.api.Value;
import io.waybill.api.tool.ToolCommand;
import io.waybill.api.tool.ToolDescription;
import io.waybill.api.tool.ToolFailedException;
import io.waybill.api.tool.ToolRun;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** {@code waybill autograd contexts}: lists the contexts that a node knows of. Thread-safe. */
@Component
public final class ContextsCommand implements ToolCommand {

    private static final String FORMAT = "%-22s %-8s %6s %9s %10s %12s  %s";

    private final DistAutograd autograd;

    @Activate
    public ContextsCommand(@Reference DistAutograd autograd) {
        this.autograd = autograd;
    }

    @Override
    public ToolDescription description() {
        return ToolDescription.of("autograd", "Lists the autograd contexts that a node knows of: autograd contexts.")
                .arguments("contexts", 1, 1);
    }

    @Override
    public void run(ToolRun run) throws ToolFailedException {
        if (!run.arguments().equals(List.of("contexts"))) {
            throw new ToolFailedException("autograd takes the word contexts, and found " + run.arguments());
        }
        List<ContextStatus> all = autograd.contexts();
        if (!run.isJson()) {
            run.line(String.format(
                    Locale.ROOT, FORMAT, "CONTEXT", "DRIVER", "SENDS", "RECEIVES", "GRADIENTS", "BYTES", "KNOWN BY"));
        }
        for (ContextStatus each : all) {
            if (run.isJson()) {
                run.json(value(each));
            } else {
                run.line(String.format(
                        Locale.ROOT,
                        FORMAT,
                        MessageId.text(each.id()),
                        each.driver(),
                        each.sends(),
                        each.receives(),
                        each.gradients(),
                        each.bytes(),
                        each.knownWorkers()));
            }
        }
    }

    private static Value value(ContextStatus status) {
        Map<Value, Value> fields = new LinkedHashMap<>();
        fields.put(Value.of("context"), Value.of(MessageId.text(status.id())));
        fields.put(Value.of("driver"), Value.of(status.driver()));
        fields.put(Value.of("sends"), Value.of(status.sends()));
        fields.put(Value.of("receives"), Value.of(status.receives()));
        fields.put(Value.of("gradients"), Value.of(status.gradients()));
        fields.put(Value.of("bytes"), Value.of(status.bytes()));
        fields.put(
                Value.of("known_workers"),
                new Value.Items(status.knownWorkers().stream()
                        .<Value>map(id -> Value.of(id))
                        .toList()));
        return new Value.Dict(fields);
    }
}
