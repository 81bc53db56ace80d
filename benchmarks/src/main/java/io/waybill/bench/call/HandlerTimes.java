package io.waybill.bench.call;

import io.waybill.bench.measure.EchoHandler;
import io.waybill.bench.measure.Figures;
import io.waybill.bench.measure.Work;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * {@code bench waits}: what a blocking call takes beyond its handler, which works or sleeps for some time, and what an
 * exchange over a Unix-domain socket takes beyond the same: a row for each time and kind.
 *
 * @param micros how long the handler works or sleeps
 * @param rounds odd; each with fresh processes
 * @param waiting how Waybill's workers wait
 */
public record HandlerTimes(CallLoad load, List<Integer> micros, int rounds, String waiting) {

    private static final List<MeasuredSystem> SYSTEMS = List.of(MeasuredSystem.WAYBILL, MeasuredSystem.SOCKET);
    private static final List<String> TIMES = List.of("mean_ns", "p50_ns", "p99_ns", "p999_ns");

    public Figures run(Consumer<String> progress) throws IOException {
        List<Figures> rows = new ArrayList<>();
        for (int time : micros) {
            rows.add(row(new Work(time, 0), progress));
            rows.add(row(new Work(0, time), progress));
        }
        return new Figures()
                .putChoice("call", load.form().name())
                .put("warm_up_seconds", load.timing().warmUpSeconds())
                .put("seconds", load.timing().seconds())
                .put("rounds", rounds)
                .putChoice("waiting", waiting)
                .put("handlers", rows);
    }

    private Figures row(Work work, Consumer<String> progress) throws IOException {
        String does = work.workMicros() > 0 ? "works" : "sleeps";
        int time = work.workMicros() + work.sleepMicros();
        CallLoad own = load.withHandler(new EchoHandler(load.handler().kind(), work));
        Map<MeasuredSystem, List<Figures>> all = MeasuredSystem.byTurns(SYSTEMS, rounds, progress, system -> {
            progress.accept("a handler that " + does + " for " + time + " us");
            return system.round(own, waiting + EchoServer.BY_DEFAULT);
        });
        Figures row = new Figures().put("handler", does).put("micros", time);
        all.forEach((system, each) -> Figures.putMedians(row, system.prefix(), each, TIMES));
        for (String name : TIMES) {
            RoundTrip.ratio(row, MeasuredSystem.SOCKET, name, name.replace("_ns", ""));
        }
        return row;
    }
}
