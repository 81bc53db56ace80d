package io.waybill.worker.call;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.host.Clock;
import io.waybill.worker.peer.CallErrors;
import io.waybill.worker.poll.Poller;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Calls between two attempts: calls whose interceptors decide whether they are repeated, until their deadlines, and
 * calls that are to be repeated, until their delays have passed. Empty unless interceptors keep requests.
 *
 * <p><b>Threads.</b> Any. The thread that removes a call from here completes or repeats it.
 */
public final class RepeatedCalls {

    private final Clock clock;
    private final Poller poller;
    private final ConcurrentSkipListSet<Waiting> waiting = new ConcurrentSkipListSet<>();
    private final AtomicLong sequence = new AtomicLong();
    private volatile boolean closed;

    RepeatedCalls(Clock clock, Poller poller) {
        this.clock = clock;
        this.poller = poller;
    }

    /** Call that waits until it is removed, or due. */
    private record Waiting(long dueNs, long sequence, CallInterception call, boolean isDecided, CallException failure)
            implements Comparable<Waiting> {

        @Override
        public int compareTo(Waiting other) {
            int byTime = Long.compare(dueNs, other.dueNs);
            return byTime != 0 ? byTime : Long.compare(sequence, other.sequence);
        }
    }

    /** Decision about a failed attempt. */
    enum Decision {
        /** The failure is the outcome of the call; the calling thread delivers it. */
        FAILED,
        /** The call is repeated later. */
        REPEATED,
        /** The call got an outcome on another thread while its interceptors decided. */
        ENDED
    }

    /**
     * Asks the interceptors of a call about a failed attempt.
     *
     * @param deadlineNs of the call, on CLOCK_BOOTTIME; 0 for none
     */
    Decision decide(CallInterception call, CallException failure, long deadlineNs) {
        long leftNs = deadlineNs == 0 ? Long.MAX_VALUE : deadlineNs - clock.bootNs();
        Waiting deciding = leftNs <= 0
                ? null
                : add(deadlineNs == 0 ? Long.MAX_VALUE : deadlineNs, call, false, failure); // if an interceptor hangs
        if (deciding == null) {
            return Decision.FAILED;
        }
        long delayNs = call.attemptFailed(failure, leftNs);
        if (!waiting.remove(deciding)) {
            return Decision.ENDED;
        }
        return delayNs >= 0 && add(clock.bootNs() + delayNs, call, true, failure) != null
                ? Decision.REPEATED
                : Decision.FAILED;
    }

    /** Adds a call, and returns its entry; when the worker closes, adds none and returns null. */
    private Waiting add(long dueNs, CallInterception call, boolean isDecided, CallException failure) {
        Waiting added = new Waiting(dueNs, sequence.getAndIncrement(), call, isDecided, failure);
        waiting.add(added);
        if (closed && waiting.remove(added)) {
            return null;
        }
        poller.onDeadline(dueNs == Long.MAX_VALUE ? 0 : dueNs);
        return added;
    }

    /** Returns the number of calls between two attempts. */
    public int size() {
        return waiting.size();
    }

    /**
     * Repeats the calls that are due, and fails those whose deadlines have passed. Returns the time at which the next
     * call is due; 0 for none.
     */
    long run(long nowNs, OutcomeDelivery delivery) {
        for (Waiting each : waiting) {
            if (each.dueNs > nowNs) {
                return each.dueNs == Long.MAX_VALUE ? 0 : each.dueNs;
            }
            if (!waiting.remove(each)) {
                continue;
            }
            if (each.isDecided) {
                delivery.repeat(each.call);
            } else {
                delivery.fail(
                        each.call.context(),
                        each.call.undecided(),
                        CallErrors.timedOut(each.failure.messageId(), each.call.timeoutNs(), each.call.receiver()));
            }
        }
        return 0;
    }

    /** Fails all calls that are here, and accepts no more. */
    void close(OutcomeDelivery delivery, ResponseReceiver.CallFailure failure) {
        closed = true;
        for (Waiting each : waiting) {
            if (waiting.remove(each)) {
                CallException ended = failure.of(each.failure.messageId());
                delivery.fail(each.call.context(), each.isDecided ? each.call.decided() : each.call.undecided(), ended);
            }
        }
    }

    /** Returns whether a request that could not be sent may be sent later. */
    static boolean mayBeSentLater(CallException failure) {
        return failure.code() == ErrorCode.WORKER_LOST
                || failure.code() == ErrorCode.UNKNOWN_WORKER
                || failure.code() == ErrorCode.BACK_PRESSURE;
    }
}
