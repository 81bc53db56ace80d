package io.waybill.cli.top;

import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.api.ErrorCode;
import io.waybill.api.metrics.WorkerMetrics;
import io.waybill.cli.command.DurationOption;
import io.waybill.cli.command.HomeOption;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.command.UsageException;
import io.waybill.cli.show.Json;
import io.waybill.cli.show.ShownTime;
import io.waybill.home.Home;
import io.waybill.home.Membership;
import io.waybill.home.Peer;
import io.waybill.host.Host;
import io.waybill.host.NativeCalls;
import io.waybill.worker.metrics.PublishedMetrics;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code waybill top}: shows the current activity of each operation of each worker. Reads only files of the home. */
@Command(
        mixinStandardHelpOptions = true,
        name = "top",
        header = "Shows rates, latencies and errors of each operation, again and again.",
        description = {
            "",
            "On a terminal, < and > change what the rows are sorted by, / filters them, c switches between served and called requests,"
                    + " p or the space bar pauses, and q quits.",
            "",
            "P50, P99 and MAX are latencies of requests that got their outcome in the interval. INFL and PARKED count requests without an"
                    + " outcome, LAG those that the worker has not read, COUNT all since it joined. Columns and rows that don't fit are left out.",
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

    @Option(
            names = "--height",
            paramLabel = "LINES",
            defaultValue = "0",
            description = "Max number of lines of a list. Default: the terminal's.")
    private int height;

    @Option(names = "--json", description = "Prints a line of JSON for each interval.")
    private boolean json;

    public TopCommand(Surroundings surroundings) {
        this.surroundings = surroundings;
    }

    @Override
    public Integer call() throws IOException, UsageException {
        TopView view = new TopView(sort(), filter, called);
        if (interval.compareTo(MIN_INTERVAL) < 0) {
            throw new UsageException("--interval is 100ms or more");
        }
        if (count < 0 || width < 0 || height < 0) {
            throw new UsageException("--count, --width and --height are 0 or more");
        }
        Host host = Host.real();
        Home opened = home.openExisting(surroundings, host);
        try (Membership membership = new Membership(opened);
                Keys keys = keys(host.calls())) {
            PublishedMetrics metrics =
                    new PublishedMetrics(() -> membership.members().all(), host.files());
            Intervals served = new Intervals(interval, false);
            Intervals sent = new Intervals(interval, true);
            membership.refresh();
            Map<Peer, WorkerMetrics> published = metrics.readAll();
            served.next(published);
            sent.next(published);
            Screen screen = new Screen(view, keys, host);
            for (int shown = 0; count == 0 || shown < count; shown++) {
                if (!screen.rest() || surroundings.out().checkError()) {
                    break;
                }
                membership.refresh();
                published = metrics.readAll();
                screen.show(served.next(published), sent.next(published));
            }
        }
        return 0;
    }

    /** Keys of a terminal, whose mode is restored when the command ends in any way but by SIGKILL. */
    private record Keys(TerminalKeys terminal, Thread atEnd) implements AutoCloseable {

        @Override
        public void close() {
            terminal.close();
            try {
                Runtime.getRuntime().removeShutdownHook(atEnd);
            } catch (IllegalStateException e) {
                // the command is ending
            }
        }
    }

    /** Returns the keys; null if there is no terminal, or its mode is already right. */
    private Keys keys(NativeCalls calls) {
        if (json || surroundings.columns() == 0) {
            return null;
        }
        TerminalKeys terminal = TerminalKeys.open(calls, System.in).orElse(null);
        if (terminal == null) {
            return null;
        }
        Thread atEnd = new Thread(terminal::close, "waybill-terminal");
        Runtime.getRuntime().addShutdownHook(atEnd);
        return new Keys(terminal, atEnd);
    }

    private TopView.Sort sort() throws UsageException {
        for (TopView.Sort each : TopView.Sort.values()) {
            if (each.name().equalsIgnoreCase(sort)) {
                return each;
            }
        }
        throw new UsageException("--sort is rate, p99, errors or inflight: " + sort);
    }

    /** Screen that shows one list after another. */
    private final class Screen {

        private final TopView view;
        private final Keys keys; // null for none
        private final Host host;
        private List<TopRow> served = List.of();
        private List<TopRow> sent = List.of();

        Screen(TopView view, Keys keys, Host host) {
            this.view = view;
            this.keys = keys;
            this.host = host;
        }

        /** Waits until the next list, and handles keys; returns false at the end of the command. */
        boolean rest() throws IOException {
            if (keys == null) {
                host.threads().pause(interval.toNanos());
                return !Thread.currentThread().isInterrupted();
            }
            keys.terminal.renew();
            long untilNs = host.clock().monotonicNs() + interval.toNanos();
            while (view.isPaused() || host.clock().monotonicNs() - untilNs < 0) {
                int key = keys.terminal.read();
                if (key != TerminalKeys.NONE) {
                    if (!view.onKey(key)) {
                        return false;
                    }
                    print();
                }
                if (surroundings.out().checkError()) {
                    return false;
                }
            }
            return true;
        }

        void show(List<TopRow> nowServed, List<TopRow> nowSent) {
            served = nowServed;
            sent = nowSent;
            print();
        }

        private void print() {
            List<TopRow> rows = view.of(view.isCalled() ? sent : served);
            if (json) {
                long nowMs = host.clock().wallNs() / 1_000_000;
                Json.printLine(surroundings.out(), content -> write(rows, nowMs, content));
                return;
            }
            boolean isTerminal = surroundings.columns() > 0;
            TerminalSize fallback =
                    new TerminalSize(Integer.MAX_VALUE, isTerminal ? surroundings.columns() : WIDTH_OF_NO_TERMINAL);
            TerminalSize size = isTerminal
                    ? TerminalSize.ofOutput(host.calls()).orElse(fallback)
                    : fallback; // read each time, because it may change
            int columns = width > 0 ? width : size.columns();
            int lines = height > 0 ? height : size.rows() - 1; // the cursor needs one line below
            if (isTerminal) {
                surroundings.out().print(CLEAR);
            }
            TopTable.print(rows, columns, keys == null ? lines : lines - 1, surroundings.out());
            if (keys != null) {
                surroundings.out().println(TopTable.cut(view.line(), columns));
            }
            if (!isTerminal) {
                surroundings.out().println();
            }
            surroundings.out().flush();
        }
    }

    private static void write(List<TopRow> rows, long nowMs, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("at", ShownTime.utc(TimeUnit.MILLISECONDS.toNanos(nowMs)));
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
