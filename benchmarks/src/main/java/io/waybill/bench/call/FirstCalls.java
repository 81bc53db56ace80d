package io.waybill.bench.call;

import io.waybill.bench.measure.Figures;
import io.waybill.bench.measure.ProcessUse;
import io.waybill.bench.process.ChildProcess;
import io.waybill.bench.process.Children;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * {@code bench first}: how long a new program takes to join, and its first thousand calls of one that has served many;
 * and the calls in each of the first seconds of two programs that are both new, beside the exchanges of two processes
 * with a socket. Each round is of new processes; each figure is the median over them.
 *
 * @param load the seconds of its timing are the first ones; nothing warms up
 */
public record FirstCalls(CallLoad load, int rounds, String waiting) {

    public static final String ROLE = "first-calls-client";

    private static final List<MeasuredSystem> SYSTEMS = List.of(MeasuredSystem.WAYBILL, MeasuredSystem.SOCKET);
    private static final int EARLY = 100;
    private static final int CALLS = 1_000;
    private static final int WARM_UP = 100_000;
    private static final List<String> NAMES =
            List.of("start_ns", "start_cpu_ns", "join_ns", "first_call_ns", "early_call_ns", "call_ns");

    public Figures run(Consumer<String> progress) throws IOException {
        Figures figures = new Figures()
                .put("rounds", rounds)
                .putChoice("waiting", waiting)
                .putChoice("call", load.form().name())
                .putChoice("handler", load.handler().kind().name());
        Figures.putMedians(figures, "", programs(progress), NAMES);
        return figures.put("first_seconds", seconds(progress));
    }

    private List<Figures> programs(Consumer<String> progress) throws IOException {
        try (Children children = Children.ofProgram()) {
            children.start(EchoServer.PROGRAM_ROLE, children.directory(), load.argument(), how());
            progress.accept("a process calls " + WARM_UP + " times");
            client(children, WARM_UP);
            List<Figures> all = new ArrayList<>();
            for (int round = 1; round <= rounds; round++) {
                progress.accept("process " + round + " of " + rounds);
                all.add(client(children, CALLS));
            }
            return all;
        }
    }

    private Figures client(Children children, int calls) throws IOException {
        Children.Child client = children.start(ROLE, children.directory(), load.argument(), how(), calls);
        Figures figures = client.figures();
        children.stop(client);
        return figures;
    }

    private String how() {
        return waiting + EchoServer.BY_DEFAULT;
    }

    /** The calls in each of the first seconds. */
    private List<Figures> seconds(Consumer<String> progress) throws IOException {
        int seconds = load.timing().seconds();
        CallLoad cold = load.withTiming(new CallLoad.Timing(seconds, 0));
        Map<MeasuredSystem, List<Figures>> all =
                MeasuredSystem.byTurns(SYSTEMS, rounds, progress, system -> system.round(cold, how()));
        List<Figures> rows = new ArrayList<>();
        for (int second = 1; second <= seconds; second++) {
            Figures row = new Figures().put("second", second);
            for (MeasuredSystem system : SYSTEMS) {
                row.put(system.prefix() + "calls", Figures.median(all.get(system), "second_" + second));
            }
            rows.add(row);
        }
        return rows;
    }

    /** Arguments: directory, load, how Waybill waits, calls. */
    public static void client(String[] arguments) throws Exception {
        ChildProcess.ready();
        int calls = Integer.parseInt(arguments[3]);
        long startNs = System.nanoTime();
        WaybillCaller caller = new WaybillCaller(CallLoad.parse(arguments[1]));
        try (Worker worker = EchoServer.joinProgram(arguments[0], "bench-caller", EchoServer.settings(arguments[2]))) {
            long joinedNs = System.nanoTime();
            long cpuNs = ProcessUse.ofThis().cpuNs();
            long startedMs = System.currentTimeMillis()
                    - ManagementFactory.getRuntimeMXBean().getStartTime();
            long callNs = System.nanoTime();
            call(worker, caller, 1);
            long firstNs = System.nanoTime();
            call(worker, caller, EARLY - 1);
            long earlyNs = System.nanoTime();
            call(worker, caller, calls - EARLY);
            long endNs = System.nanoTime();
            ChildProcess.report(new Figures()
                    .put("start_ns", TimeUnit.MILLISECONDS.toNanos(startedMs))
                    .put("start_cpu_ns", cpuNs)
                    .put("join_ns", joinedNs - startNs)
                    .put("first_call_ns", firstNs - callNs)
                    .put("early_call_ns", (earlyNs - firstNs) / (EARLY - 1))
                    .put("call_ns", (endNs - earlyNs) / (calls - EARLY)));
            ChildProcess.awaitEnd();
        }
    }

    private static void call(Worker worker, WaybillCaller caller, int calls) {
        for (int i = 0; i < calls; i++) {
            caller.call(worker);
        }
    }
}
