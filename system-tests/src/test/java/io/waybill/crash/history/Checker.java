package io.waybill.crash.history;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;

/**
 * Says what in a history the promises rule out. A function of files: it knows nothing of the processes that wrote them and uses nothing of
 * the broker. One thread, once.
 */
public final class Checker {

    /**
     * How much was judged.
     *
     * @param calls that were acknowledged
     * @param failed of the outcomes, by the error's number
     * @param refused calls that were not, by the error's number
     * @param unknown of the calls, how many have no outcome because their caller was killed and no later incarnation of it asked
     * @param runs of handlers
     */
    public record Verdict(
            Problems problems,
            long calls,
            long outcomes,
            Map<Integer, Long> failed,
            Map<Integer, Long> refused,
            long unknown,
            long runs,
            long records) {

        public boolean isClean() {
            return problems.isEmpty();
        }

        @Override
        public String toString() {
            return calls + " calls, " + outcomes + " outcomes (failed: " + failed + "), refused: " + refused + ", "
                    + unknown + " unknown to killed callers, " + runs + " runs of handlers, " + records + " records: "
                    + (isClean() ? "clean" : problems);
        }
    }

    private Checker() {}

    /** Judges a home that nobody writes any more, and the logs that were kept of it. */
    public static Verdict check(Path home, Path logs, Expectations expected) throws IOException {
        Problems problems = new Problems();
        History history = History.read(home, logs, problems);
        CallerCheck callers = new CallerCheck(history, expected, problems);
        HandlerCheck handlers = new HandlerCheck(expected, problems);
        OrderCheck order = new OrderCheck(expected, problems);
        for (Call call : history.calls()) {
            callers.check(call);
            handlers.check(call);
            order.take(call);
        }
        order.check();
        for (Incarnation incarnation : history.incarnations()) {
            if (incarnation.open > 0 && !expected.diskFills()) {
                problems.add(
                        Problem.Kind.NO_OUTCOME, incarnation + " got no outcome of " + incarnation.open + " calls");
            }
        }
        history.logs().forEach(new SequenceCheck(history, expected, problems)::check);
        return new Verdict(
                problems,
                callers.acknowledged(),
                callers.outcomes(),
                history.failed(),
                history.refused(),
                callers.unknown(),
                handlers.runs(),
                history.records());
    }
}
