package io.waybill.worker.upkeep;

import io.waybill.api.MessageId;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.StuckSettings;
import io.waybill.exchange.DeferredResponse;
import io.waybill.exchange.HandlerCall;
import io.waybill.host.Clock;
import io.waybill.worker.serve.OpenRequest;
import io.waybill.worker.serve.OpenRequests;
import java.lang.invoke.VarHandle;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Watches for deferred responses that do not come: responses of handlers that returned, so that no thread shows them.
 *
 * <ul>
 *   <li>A response is stuck when its request's deadline has long passed: it is counted as a call that does not return,
 *       until it is given, and its request gets its outcome.
 *   <li>A response to a request without a deadline is counted after a time of its own; its caller still waits, so the
 *       request stays open.
 *   <li>When its handler or the worker leaves, a response gets no more time than its deadline, and none when the drain
 *       limit has passed.
 * </ul>
 *
 * <p><b>Threads.</b> The housekeeper's, except for {@link #leave}.
 */
final class DeferredResponseWatch {

    private static final Logger LOG = LoggerFactory.getLogger(DeferredResponseWatch.class);
    private static final long LOOK_NS = 50_000_000;

    private final OpenRequests open;
    private final StuckSettings settings;
    private final StuckCalls counted;
    private final Clock clock;
    private final List<Stuck> stuck = new ArrayList<>();
    private long nextLookNs = Long.MIN_VALUE;
    private volatile boolean leaving; // set by the thread that closes the worker

    /** A counted response. A bundle that lost its response never gives it. */
    private record Stuck(
            WeakReference<DeferredResponse> late, BooleanSupplier given, HandlerEntry entry, long sequence) {

        boolean isOf(DeferredResponse other, long otherSequence) {
            return sequence == otherSequence && late.get() == other;
        }
    }

    DeferredResponseWatch(OpenRequests open, StuckSettings settings, StuckCalls counted, Clock clock) {
        this.open = open;
        this.settings = settings;
        this.counted = counted;
        this.clock = clock;
    }

    /** Gives expired responses no more time, because the worker closes. */
    void leave() {
        leaving = true;
    }

    void look() {
        long nowNs = clock.monotonicNs();
        if (nextLookNs != Long.MIN_VALUE && nowNs - nextLookNs < 0) {
            return;
        }
        nextLookNs = nowNs + LOOK_NS;
        for (OpenRequest each : open.all()) {
            look(each, nowNs);
        }
        stuck.removeIf(this::isOver);
    }

    private void look(OpenRequest each, long nowNs) {
        HandlerCall request = each.request();
        DeferredResponse late = request.late();
        if (late == null || !late.isAwaited()) {
            return;
        }
        long sequence = request.sequence();
        HandlerEntry entry = request.entry();
        long id = request.id();
        long deadlineNs = request.deadlineNs();
        VarHandle.loadLoadFence();
        if (sequence == 0 || entry == null || request.late() != late || request.sequence() != sequence) {
            return; // the object serves another request by now
        }
        boolean expired = deadlineNs != 0 && clock.bootNs() >= deadlineNs;
        boolean leaves = leaving || entry.isWithdrawn();
        if (entry.isGivenUp() || leaves && expired) {
            LOG.warn(
                    "{} left, and has not given the response to {} that it deferred: message {}",
                    entry.provider(),
                    entry.key().text(),
                    MessageId.text(id));
            request.abandon(sequence);
        } else if (expired && clock.bootNs() - deadlineNs >= settings.afterNs()) {
            count(late, entry, id, sequence);
            request.abandon(sequence);
        } else if (deadlineNs == 0 && isLong(each, sequence, nowNs) && !isCounted(late, sequence)) {
            count(late, entry, id, sequence);
        }
    }

    private boolean isLong(OpenRequest request, long sequence, long nowNs) {
        return settings.withoutDeadlineNs() > 0 && request.seenForNs(sequence, nowNs) >= settings.withoutDeadlineNs();
    }

    private boolean isCounted(DeferredResponse late, long sequence) {
        for (Stuck each : stuck) {
            if (each.isOf(late, sequence)) {
                return true;
            }
        }
        return false;
    }

    private void count(DeferredResponse late, HandlerEntry entry, long id, long sequence) {
        stuck.add(new Stuck(new WeakReference<>(late), late.given(), entry, sequence));
        if (counted.add(entry)) {
            LOG.warn(
                    "{} has not given the response to {} that it deferred: message {}",
                    entry.provider(),
                    entry.key().text(),
                    MessageId.text(id));
        }
    }

    /** Returns whether the response was given; or never will be, and no caller waits any more. */
    private boolean isOver(Stuck each) {
        boolean isGone =
                each.late().get() == null; // before it is asked whether it was given: a bundle may do so, and drop it
        if (each.given().getAsBoolean()) {
            counted.remove(each.entry());
            return true;
        }
        return isGone || each.entry().isWithdrawn();
    }
}
