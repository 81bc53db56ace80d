package io.waybill.worker.metrics;

import io.waybill.api.ErrorCode;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;

/** What a worker counts. Thread-safe; each count only grows. */
public final class WorkerCounters {

    // By the holder of the request lane's lock.
    private final SingleWriterCounter callsSent = new SingleWriterCounter();
    // By the holder of the polling permit.
    private final SingleWriterCounter responses = new SingleWriterCounter();
    private final SingleWriterCounter lateResponses = new SingleWriterCounter();
    private final SingleWriterCounter requestsBegun = new SingleWriterCounter();
    private final SingleWriterCounter requestsExpired = new SingleWriterCounter();
    private final SingleWriterCounter requestsParked = new SingleWriterCounter();
    private final SingleWriterCounter damagedRecords = new SingleWriterCounter();
    private final SingleWriterCounter listenerErrors = new SingleWriterCounter();
    // By the housekeeper.
    private final SingleWriterCounter requestsStuck = new SingleWriterCounter();
    private final SingleWriterCounter pauses = new SingleWriterCounter();
    // By anyone.
    private final LongAdder timeouts = new LongAdder();
    private final AtomicLongArray failures = new AtomicLongArray(ErrorCode.values().length);

    public void countSent() {
        callsSent.increment();
    }

    public void countResponse() {
        responses.increment();
    }

    public void countLate() {
        lateResponses.increment();
    }

    public void countTimeout() {
        timeouts.increment();
    }

    public void countBegun() {
        requestsBegun.increment();
    }

    public void countExpired() {
        requestsExpired.increment();
    }

    public void countParked() {
        requestsParked.increment();
    }

    public void countStuck() {
        requestsStuck.increment();
    }

    public void countPause() {
        pauses.increment();
    }

    public void countDamaged() {
        damagedRecords.increment();
    }

    public void countListenerError() {
        listenerErrors.increment();
    }

    public void countFailure(ErrorCode code) {
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
