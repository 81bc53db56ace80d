package io.waybill.bench.measure;

import java.io.IOException;
import java.util.concurrent.TimeUnit;

/**
 * Phases of the calls of one client: a warm-up, because a process is cold at first, and the measurement.
 *
 * @param warmUpSeconds may be 0
 * @param seconds that are measured after these; may be 0
 * @param maxCalls after which each of the two ends early, so that large messages do not fill the disk
 */
public record Phases(int warmUpSeconds, int seconds, long maxCalls) {

    /** Calls of one client, one after the other or many in flight. */
    @FunctionalInterface
    public interface Calls {
        /** Makes calls until the phase is over, and returns how many: all of them have their responses. */
        long make(Phase phase) throws IOException;
    }

    /** One exchange with the other side. */
    @FunctionalInterface
    public interface Exchange {
        /** Returns how long the other side's own work took, in ns; 0 without any. */
        long exchange() throws IOException;
    }

    /** Returns calls that are made one after the other, each of which is timed. */
    public static Calls oneByOne(Exchange exchange) {
        return phase -> {
            long calls = 0;
            for (long nowNs = System.nanoTime(); !phase.isOver(calls, nowNs); calls++) {
                long sinceNs = System.nanoTime();
                long takenNs = exchange.exchange();
                nowNs = phase.record(sinceNs, takenNs);
            }
            return calls;
        };
    }

    /**
     * Makes calls through both phases.
     *
     * @param servedPid the process that serves them
     * @return the figures of the measured phase, see {@link CallCost}, and the calls of each second of the warm-up that
     *     were timed, {@code second_1} and so on
     */
    public Figures measure(long servedPid, Calls calls) throws IOException {
        Phase warmUp = new Phase(TimeUnit.SECONDS.toNanos(warmUpSeconds), maxCalls);
        calls.make(warmUp);
        CallCost cost = new CallCost(servedPid);
        Phase measured = new Phase(TimeUnit.SECONDS.toNanos(seconds), maxCalls);
        Figures figures = seconds == 0 ? new Figures() : cost.figures(calls.make(measured), measured.times());
        for (int second = 0; second < warmUpSeconds; second++) {
            figures.put("second_" + (second + 1), warmUp.inSecond(second));
        }
        return figures;
    }
}
