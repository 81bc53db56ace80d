package io.waybill.worker.metrics;

import io.waybill.api.ErrorCode;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;

/** Counters of a worker, and counts of each operation. Thread-safe; each count only grows. */
public final class WorkerCounters {

    // Written by the holder of the lock of the requests' appender.
    private final SingleWriterCounter callsSent = new SingleWriterCounter();
    // Written by the holder of the poll permit.
    private final SingleWriterCounter responses = new SingleWriterCounter();
    private final SingleWriterCounter lateResponses = new SingleWriterCounter();
    private final SingleWriterCounter requestsBegun = new SingleWriterCounter();
    private final SingleWriterCounter requestsExpired = new SingleWriterCounter();
    private final SingleWriterCounter requestsParked = new SingleWriterCounter();
    private final SingleWriterCounter damagedRecords = new SingleWriterCounter();
    private final SingleWriterCounter listenerErrors = new SingleWriterCounter();
    // Written by the housekeeper.
    private final SingleWriterCounter requestsStuck = new SingleWriterCounter();
    private final SingleWriterCounter pauses = new SingleWriterCounter();
    // Written by any thread.
    private final LongAdder timeouts = new LongAdder();
    private final LongAdder publishingErrors = new LongAdder();
    private final AtomicLongArray failures = new AtomicLongArray(ErrorCode.values().length);
    private final OperationTable called = new OperationTable();
    private final OperationTable served = new OperationTable();

    /** Returns the counts of the requests that this worker sends, by operation. */
    public OperationTable called() {
        return called;
    }

    /** Returns the counts of the requests that this worker reads, by operation. */
    public OperationTable served() {
        return served;
    }

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

    public void countPublishingError() {
        publishingErrors.increment();
    }

    public void countFailure(ErrorCode code) {
        failures.incrementAndGet(code.ordinal());
    }

    /** Returns a number that grows with each change of the counts of operations. */
    public long changes() {
        return called.changes() + served.changes();
    }

    /** Returns the number of requests that this worker sent. */
    public long callsSent() {
        return callsSent.sum();
    }

    /** Returns the number of responses that completed a call. */
    public long responses() {
        return responses.sum();
    }

    /** Returns the number of responses to completed calls: late ones and duplicates. They are dropped. */
    public long lateResponses() {
        return lateResponses.sum();
    }

    /** Returns the number of calls that timed out. */
    public long timeouts() {
        return timeouts.sum();
    }

    /** Returns the number of requests for which a handler was called. */
    public long requestsBegun() {
        return requestsBegun.sum();
    }

    /** Returns the number of requests that were dropped because their deadline had passed. */
    public long requestsExpired() {
        return requestsExpired.sum();
    }

    /** Returns the number of requests that were parked for a handler. */
    public long requestsParked() {
        return requestsParked.sum();
    }

    /** Returns the number of requests that were found stuck in their handler; some may have ended since. */
    public long requestsStuck() {
        return requestsStuck.sum();
    }

    /**
     * Returns the number of times that this process did not run for more than a second: it was stopped, or its host was
     * suspended or overloaded.
     */
    public long pauses() {
        return pauses.sum();
    }

    /** Returns the number of damaged records of peers. */
    public long damagedRecords() {
        return damagedRecords.sum();
    }

    /** Returns the number of exceptions thrown by listeners. */
    public long listenerErrors() {
        return listenerErrors.sum();
    }

    /**
     * Returns the number of steps that failed after the append of a message: its wake-up, its copy for the archive, its
     * events, its figures.
     */
    public long publishingErrors() {
        return publishingErrors.sum();
    }

    /** Returns the number of error responses that this worker sent with this code. */
    public long failures(ErrorCode code) {
        return failures.get(code.ordinal());
    }
}
