package io.waybill.cli.top;

import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.api.ErrorCode;
import io.waybill.cli.command.DurationOption;
import io.waybill.cli.command.HomeOption;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.command.UsageException;
import io.waybill.cli.show.Json;
import io.waybill.home.Home;
import io.waybill.home.Membership;
import io.waybill.host.Host;
import io.waybill.worker.metrics.PublishedMetrics;
import java.io.IOException;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code waybill top}: what each operation of each worker does now. Reads files of the home alone. */
@Command(
        mixinStandardHelpOptions = true,
        name = "top",
        header = "Shows rates, latencies and errors of each operation, again and again.",
        description = {
            "",
            "P50, P99 and MAX are latencies of requests that got their outcome in the interval. INFL and PARKED count requests without an"
                    + " outcome, LAG those that the worker has not read, COUNT all since it joined. Columns that don't fit are left out.",
            ""
        },
        footer = {
            "",
            "Examples:",
            "  waybill top",
            "  waybill top --sort p99 --filter ps0",
            "  waybill top --json --count 1"
        })
public final class TopCommand implements Callable<Integer> {

    private static final String CLEAR = "\u001b[H\u001b[2J";
    private static final int WIDTH_OF_NO_TERMINAL = 160;
    private static final Duration MIN_INTERVAL = Duration.ofMillis(100);

    private final Surroundings surroundings;

    /** What the rows are ordered by, the highest first. */
    enum Sort {
        RATE(Comparator.comparingDouble(TopRow::rate)),
        P99(Comparator.comparingLong(TopRow::p99Ns)),
        ERRORS(Comparator.comparingDouble(TopRow::errorRate)),
        INFLIGHT(Comparator.comparingLong(row -> row.inFlight() + row.parked()));

        private final Comparator<TopRow> order;

        Sort(Comparator<TopRow> order) {
            this.order = order.reversed().thenComparing(TopRow::worker).thenComparing(TopRow::operation);
        }
    }

    @Mixin
    private HomeOption home;

    @Option(
            names = "--interval",
            paramLabel = "TIME",
            defaultValue = "1s",
            converter = DurationOption.class,
            description = "Time between two lists. Workers publish once a second. Default: ${DEFAULT-VALUE}.")
    private Duration interval;

    @Option(
            names = "--sort",
            paramLabel = "BY",
            defaultValue = "rate",
            description = "rate, p99, errors or inflight. Default: ${DEFAULT-VALUE}.")
    private String sort;

    @Option(
            names = "--filter",
            paramLabel = "TEXT",
            defaultValue = "",
            description = "Only workers and operations with this text.")
    private String filter;

    @Option(names = "--called", description = "Requests that the workers send, instead of those they serve.")
    private boolean called;

    @Option(names = "--count", paramLabel = "N", defaultValue = "0", description = "Ends after so many lists.")
    private int count;

    @Option(
            names = "--width",
            paramLabel = "COLUMNS",
            defaultValue = "0",
            description = "Max length of a line. Default: the terminal's.")
    private int width;

    @Option(names = "--json", description = "Prints a line of JSON for each interval.")
    private boolean json;

    public TopCommand(Surroundings surroundings) {
        this.surroundings = surroundings;
    }

    @Override
    public Integer call() throws IOException, UsageException {
        Sort by = sort();
        if (interval.compareTo(MIN_INTERVAL) < 0) {
            throw new UsageException("--interval is 100ms or more");
        }
        if (count < 0 || width < 0) {
            throw new UsageException("--count and --width are 0 or more");
        }
        Host host = Host.real();
        Home opened = home.openExisting(surroundings, host);
        try (Membership membership = new Membership(opened)) {
            PublishedMetrics metrics =
                    new PublishedMetrics(() -> membership.members().all(), host.files());
            Intervals intervals = new Intervals(interval, called);
            membership.refresh();
            intervals.next(metrics.readAll());
            for (int shown = 0; count == 0 || shown < count; shown++) {
                host.threads().pause(interval.toNanos());
                if (Thread.currentThread().isInterrupted() || surroundings.out().checkError()) {
                    break;
                }
                membership.refresh();
                List<TopRow> rows = intervals.next(metrics.readAll()).stream()
                        .filter(row ->
                                row.worker().contains(filter) || row.operation().contains(filter))
                        .sorted(by.order)
                        .toList();
                show(rows, host.clock().wallNs() / 1_000_000);
            }
        }
        return 0;
    }

    private Sort sort() throws UsageException {
        for (Sort each : Sort.values()) {
            if (each.name().equalsIgnoreCase(sort)) {
                return each;
            }
        }
        throw new UsageException("--sort is rate, p99, errors or inflight: " + sort);
    }

    private void show(List<TopRow> rows, long nowMs) {
        if (json) {
            Json.printLine(surroundings.out(), content -> write(rows, nowMs, content));
            return;
        }
        int columns = surroundings.columns();
        if (columns > 0) {
            surroundings.out().print(CLEAR);
        }
        int max = width > 0 ? width : columns > 0 ? columns : WIDTH_OF_NO_TERMINAL;
        TopTable.print(rows, max, surroundings.out());
        if (columns == 0) {
            surroundings.out().println();
        }
        surroundings.out().flush();
    }

    private static void write(List<TopRow> rows, long nowMs, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeNumberField("time_ms", nowMs);
        json.writeArrayFieldStart("rows");
        for (TopRow row : rows) {
            json.writeStartObject();
            json.writeStringField("worker", row.worker());
            json.writeStringField("operation", row.operation());
            json.writeNumberField("rate", row.rate());
            json.writeNumberField("p50_ns", row.p50Ns());
            json.writeNumberField("p99_ns", row.p99Ns());
            json.writeNumberField("max_ns", row.latency().maxNs());
            json.writeNumberField("count", row.count());
            json.writeNumberField("in_flight", row.inFlight());
            json.writeNumberField("parked", row.parked());
            json.writeNumberField("error_rate", row.errorRate());
            json.writeObjectFieldStart("errors");
            for (Map.Entry<ErrorCode, Long> error : row.errors().entrySet()) {
                json.writeNumberField(error.getKey().name(), error.getValue());
            }
            json.writeEndObject();
            json.writeNumberField("lag", row.lag());
            json.writeNumberField("heap_bytes", row.heapBytes());
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeEndObject();
    }
}
