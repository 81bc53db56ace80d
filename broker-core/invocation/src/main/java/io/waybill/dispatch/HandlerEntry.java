package io.waybill.dispatch;

import io.waybill.api.admin.HandlerInfo;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.OperationDescription;
import io.waybill.api.handler.SelectivelyBlocking;
import io.waybill.host.Clock;
import io.waybill.host.Threads;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Handler under one key, with the count of its requests in flight.
 *
 * <p>Every {@link #begin()} that returned true is followed by exactly one {@link #end}: when the request is completed,
 * by a late response if it was deferred. In between the handler is not removed, unless the drain limit passes.
 *
 * <p><b>Threads.</b> Any.
 */
public final class HandlerEntry {

    /** Max duration of a short call of a plain handler: for this time it may keep its thread from polling. */
    public static final long SHORT_NS = 50_000;

    private static final int SHORT_FROM = 8;
    private static final int MAX_SCORE = 256;
    private static final int PER_LONG_CALL = 64;

    private final HandlerKey key;
    private final HandlerSpec spec;
    private final long sinceWallNs;
    private final ServedBy servedBy;
    private final SelectivelyBlocking selects; // null when the handler blocks for each message, or for none

    private final InFlightCount inFlight = new InFlightCount();
    private final AtomicLong failed = new AtomicLong();

    // Grows by a little for each short call, and falls by much more for each long one. Written by all its threads,
    // without order: an error does no harm.
    private int score;

    // Findings of the watchdog, read by serving threads: the number of its calls that block a polling thread.
    private final AtomicInteger keptPollers = new AtomicInteger();
    private final AtomicInteger stuck = new AtomicInteger();
    private volatile boolean outOfService;
    private volatile Canary canary; // null for none; set by the registry, read by serving threads
    private volatile boolean givenUp; // set by the withdrawing thread, read by a watchdog

    /** The next version of a handler, which gets the requests that a rule selects. */
    private record Canary(HandlerEntry entry, CanaryRule rule) {}

    HandlerEntry(HandlerKey key, HandlerSpec spec, long sinceWallNs) {
        this.key = key;
        this.spec = spec;
        this.sinceWallNs = sinceWallNs;
        this.servedBy = ServedBy.of(spec.provider());
        this.selects = spec.nonBlocking() && spec.handler() instanceof SelectivelyBlocking selecting ? selecting : null;
    }

    /**
     * Counts a request in; returns false when the handler was withdrawn: the caller then repeats the lookup in the
     * registry's new table.
     */
    public boolean begin() {
        return inFlight.begin();
    }

    /**
     * Counts a request in although the handler leaves, on behalf of a request that its provider has in flight: its
     * drain waits for both.
     *
     * @return false when the handler has left
     */
    public boolean beginLeaving() {
        return inFlight.beginLeaving();
    }

    /** Counts a request out that {@link #begin()} counted in. */
    public void end(Outcome outcome) {
        if (outcome == Outcome.FAILED) {
            failed.getAndIncrement();
        }
        inFlight.end();
    }

    /** Sets the handler that gets the requests which a rule selects; null for none. */
    void canary(HandlerEntry next, CanaryRule rule) {
        canary = next == null ? null : new Canary(next, rule);
    }

    /** Returns whether the next version of the handler gets some of its requests. */
    public boolean hasCanary() {
        return canary != null;
    }

    /**
     * Returns the version of the handler that gets a request: this one, or the next one. A request that a version of
     * the bundle has sent goes to the same version.
     *
     * @param outer handler of the request that has sent this one; null for none
     */
    public HandlerEntry version(long id, String callerName, HandlerEntry outer) {
        Canary now = canary;
        if (now == null || outer != null && outer.executor() == executor()) {
            return this;
        }
        boolean isNext = outer != null && outer.executor() == now.entry.executor() || now.rule.selects(id, callerName);
        return isNext ? now.entry : this;
    }

    public HandlerKey key() {
        return key;
    }

    /** Returns its provider, as records and events name it. */
    public ServedBy servedBy() {
        return servedBy;
    }

    public MessageHandler handler() {
        return spec.handler();
    }

    /**
     * Returns whether the next request runs on the worker's poller: the handler is non-blocking, and no call of it
     * blocks a poller.
     */
    public boolean runsOnPoller() {
        return spec.nonBlocking() && keptPollers.get() == 0;
    }

    /** Returns whether the handler is declared non-blocking. */
    public boolean nonBlocking() {
        return spec.nonBlocking();
    }

    /** Returns whether the handler blocks for no message. */
    public boolean neverBlocks() {
        return spec.nonBlocking() && selects == null;
    }

    /** Returns the selector of the messages for which the handler blocks; null when it blocks for each, or for none. */
    public SelectivelyBlocking selects() {
        return selects;
    }

    /** Records the duration of a call on {@link #executor()}. */
    public void took(long ns) {
        score = ns <= SHORT_NS ? Math.min(score + 1, MAX_SCORE) : Math.max(score - PER_LONG_CALL, 0);
        executor().polled().areShort(isShort());
    }

    /** Returns whether its calls are expected to be short: not more than one in some sixty has been long. */
    public boolean isShort() {
        return score >= SHORT_FROM;
    }

    /** Returns the descriptions of operations of its handler, the same list under each key. */
    public List<OperationDescription> descriptions() {
        return spec.descriptions();
    }

    /** Returns the policy for its requests when the worker ends and returns. */
    public DeliveryPolicy delivery() {
        return spec.delivery();
    }

    /** Notes that a call blocks its poller; until it returns, other requests run on {@link #executor()}. */
    public void keepsPoller() {
        keptPollers.getAndIncrement();
    }

    /** Notes that this call returned. */
    public void freesPoller() {
        keptPollers.getAndDecrement();
    }

    /**
     * Counts calls that are found stuck ({@code change} above zero), or no longer (below); returns the number of stuck
     * calls.
     */
    public int countStuck(int change) {
        return stuck.addAndGet(change);
    }

    /**
     * Returns whether new requests are rejected with {@link io.waybill.api.ErrorCode#HANDLER_STUCK}, because too many
     * calls are stuck.
     */
    public boolean isOutOfService() {
        return outOfService;
    }

    /** Sets whether the handler is out of service; {@link HandlerRegistry#serviceChanged()} notifies the listeners. */
    public void outOfService(boolean out) {
        outOfService = out;
    }

    /** Returns whether a request that waited need not wait any more: it can run, or is refused. */
    public boolean hasRoom() {
        return selects == null && runsOnPoller()
                || isOutOfService()
                || executor().hasRoom();
    }

    /** Returns whether the handler leaves, or has left. */
    public boolean isWithdrawn() {
        return inFlight.isWithdrawn();
    }

    /** Returns whether the handler left while it still ran requests, and no caller waits for them any more. */
    public boolean isGivenUp() {
        return givenUp;
    }

    void giveUp() {
        givenUp = true;
    }

    public HandlerExecutor executor() {
        return spec.executor();
    }

    /** Returns the class loader to set for every call of the handler. */
    public ClassLoader contextClassLoader() {
        return spec.contextClassLoader();
    }

    public Provider provider() {
        return spec.provider();
    }

    int ranking() {
        return spec.ranking();
    }

    /** Returns the number of requests begun and not ended. */
    public long inFlight() {
        return inFlight.inFlight();
    }

    HandlerStatus status(HandlerInfo.State state, long parked) {
        long ended = inFlight.ended();
        long failedNow = failed.get();
        long done = Math.max(0, ended - failedNow);
        return new HandlerStatus(
                key,
                state,
                provider(),
                sinceWallNs,
                nonBlocking(),
                delivery(),
                inFlight(),
                parked,
                done,
                failedNow,
                stuck.get());
    }

    /** Lets no more requests begin. The entry must have left the published table before. */
    void withdraw() {
        inFlight.withdraw();
    }

    /** Lets no more requests begin on behalf of others, either. */
    void leave() {
        inFlight.leave();
    }

    /**
     * Waits until nothing is in flight, or until a moment of the monotonic clock; returns the number of requests still
     * in flight.
     */
    long awaitDrained(Clock clock, Threads threads, long untilNs) {
        return inFlight.awaitDrained(clock, threads, untilNs);
    }
}
