package io.waybill.worker;

import io.waybill.api.ErrorCode;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;

/** What a worker counts. Thread-safe; each count only grows. */
public final class WorkerCounters {

    // By the holder of the request lane's lock.
    private final Tally callsSent = new Tally();
    // By the holder of the polling permit.
    private final Tally responses = new Tally();
    private final Tally lateResponses = new Tally();
    private final Tally requestsBegun = new Tally();
    private final Tally requestsExpired = new Tally();
    private final Tally requestsParked = new Tally();
    private final Tally damagedRecords = new Tally();
    private final Tally listenerErrors = new Tally();
    // By the housekeeper.
    private final Tally requestsStuck = new Tally();
    private final Tally pauses = new Tally();
    // By anyone.
    private final LongAdder timeouts = new LongAdder();
    private final AtomicLongArray failures = new AtomicLongArray(ErrorCode.values().length);

    void countSent() {
        callsSent.increment();
    }

    void countResponse() {
        responses.increment();
    }

    void countLate() {
        lateResponses.increment();
    }

    void countTimeout() {
        timeouts.increment();
    }

    void countBegun() {
        requestsBegun.increment();
    }

    void countExpired() {
        requestsExpired.increment();
    }

    void countParked() {
        requestsParked.increment();
    }

    void countStuck() {
        requestsStuck.increment();
    }

    void countPause() {
        pauses.increment();
    }

    void countDamaged() {
        damagedRecords.increment();
    }

    void countListenerError() {
        listenerErrors.increment();
    }

    void countFailure(ErrorCode code) {
        failures.incrementAndGet(code.ordinal());
    }

    /** Requests that this worker sent. */
    public long callsSent() {
        return callsSent.sum();
    }

    /** Responses that settled a call. */
    public long responses() {
        return responses.sum();
    }

    /** Responses to calls that were settled already: late ones and duplicates. They are dropped. */
    public long lateResponses() {
        return lateResponses.sum();
    }

    /** Calls that timed out. */
    public long timeouts() {
        return timeouts.sum();
    }

    /** Requests for which a handler was called. */
    public long requestsBegun() {
        return requestsBegun.sum();
    }

    /** Requests that were dropped because their deadline had passed. */
    public long requestsExpired() {
        return requestsExpired.sum();
    }

    /** Requests that had to wait for a handler. */
    public long requestsParked() {
        return requestsParked.sum();
    }

    /** Requests that were found stuck in their handler, some of which may have ended since. */
    public long requestsStuck() {
        return requestsStuck.sum();
    }

    /** How often this process did not run for more than a second: it was stopped, its host was suspended, or gave it no processor. */
    public long pauses() {
        return pauses.sum();
    }

    /** Records of peers that were not whole. */
    public long damagedRecords() {
        return damagedRecords.sum();
    }

    /** Listeners that threw. */
    public long listenerErrors() {
        return listenerErrors.sum();
    }

    /** Error responses that this worker sent with this code. */
    public long failures(ErrorCode code) {
        return failures.get(code.ordinal());
    }
}
