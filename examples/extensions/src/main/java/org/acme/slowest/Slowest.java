package org.acme.slowest;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RecordCodec;
import io.waybill.api.journal.CallQuery;
import io.waybill.api.journal.CallRecord;
import io.waybill.api.journal.JournalReader;
import io.waybill.api.journal.Journals;
import io.waybill.api.tool.ToolCommand;
import io.waybill.api.tool.ToolDescription;
import io.waybill.api.tool.ToolFailedException;
import io.waybill.api.tool.ToolRun;
import java.io.IOException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** {@code waybill slowest}: the slowest call of each operation in the last minutes, of all workers of the home. */
@Component
public final class Slowest implements ToolCommand {

    private final Journals journals;

    /** The slowest call of an operation. */
    public record Row(String operation, String id, double ms, String outcome) {}

    @Activate
    public Slowest(@Reference Journals journals) {
        this.journals = journals;
    }

    @Override
    public ToolDescription description() {
        return ToolDescription.of("slowest", "Shows the slowest call of each operation.")
                .option("--minutes", "N", "Only calls of the last N minutes; 10.")
                .option("--operation", "NAME", "Only these operations; * stands for any letters.");
    }

    @Override
    public void run(ToolRun run) throws ToolFailedException {
        Map<String, CallRecord> slowest = new TreeMap<>();
        try (JournalReader reader = journals.open()) {
            CallQuery query =
                    reader.query().since(beginNs(run.option("--minutes").orElse("10")));
            run.option("--operation").ifPresent(query::operation);
            reader.list(query, 0, call -> {
                boolean isCommand = call.request().type() == MessageType.CONTROL_CALL; // this one, too
                if (!isCommand && call.operation().isPresent() && call.tookNs().isPresent()) {
                    slowest.merge(call.operation().get(), call, Slowest::slower);
                }
            });
        } catch (IOException e) {
            throw new ToolFailedException("the journals can't be read: " + e.getMessage());
        }
        if (!run.isJson()) {
            run.line(String.format(Locale.ROOT, "%-40s %-16s %10s  %s", "OPERATION", "ID", "MS", "OUTCOME"));
        }
        slowest.forEach((operation, call) -> {
            String outcome = call.errorCode().map(Enum::name).orElse("OK");
            Row row =
                    new Row(operation, MessageId.text(call.id()), call.tookNs().orElseThrow() / 1e6, outcome);
            if (run.isJson()) {
                run.json(RecordCodec.encode(row));
            } else {
                run.line(String.format(Locale.ROOT, "%-40s %-16s %10.3f  %s", operation, row.id(), row.ms(), outcome));
            }
        });
    }

    private static CallRecord slower(CallRecord one, CallRecord other) {
        return other.tookNs().orElseThrow() > one.tookNs().orElseThrow() ? other : one;
    }

    private static long beginNs(String minutes) throws ToolFailedException {
        try {
            Instant begin = Instant.now().minus(Integer.parseInt(minutes), ChronoUnit.MINUTES);
            return TimeUnit.MILLISECONDS.toNanos(begin.toEpochMilli());
        } catch (NumberFormatException e) {
            throw new ToolFailedException(ToolFailedException.USAGE, "--minutes is a number, not " + minutes);
        }
    }
}
