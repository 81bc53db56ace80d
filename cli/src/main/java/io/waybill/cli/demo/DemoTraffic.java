package io.waybill.cli.demo;

import io.waybill.api.CallException;
import io.waybill.api.Caller;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.host.Threads;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * Concurrent calls during a step of the demo, with their outcomes.
 *
 * <p><b>Threads.</b> A few separate threads, each with sequential calls. <b>Ownership.</b> Its creator calls
 * {@link #end}.
 */
final class DemoTraffic {

    private static final int CALLERS = 4;
    private static final long LIMIT_S = 60;
    private static final long LOOK_NS = 1_000_000;

    /**
     * Outcome of the calls.
     *
     * @param maxGapMs max time without a response
     */
    record Outcome(long calls, long responded, long failed, long wrong, double maxGapMs, String firstFailure) {
        /** Returns the number of calls without a response or an error. */
        long lost() {
            return calls - responded - failed;
        }
    }

    private final AtomicLong calls = new AtomicLong();
    private final AtomicLong responded = new AtomicLong();
    private final AtomicLong failed = new AtomicLong();
    private final AtomicLong wrong = new AtomicLong();
    private final AtomicLong lastResponseNs = new AtomicLong(System.nanoTime());
    private final AtomicLong maxGapNs = new AtomicLong();
    private final AtomicReference<String> firstFailure = new AtomicReference<>("");
    private final CountDownLatch ended = new CountDownLatch(CALLERS);
    private volatile boolean ending; // set by the stopping thread, read by the callers

    /** Starts the calls. */
    static DemoTraffic start(Threads threads, Caller caller, Supplier<Request> requests, Predicate<Response> isRight) {
        DemoTraffic traffic = new DemoTraffic();
        for (int i = 1; i <= CALLERS; i++) {
            threads.start("demo-caller-" + i, () -> traffic.run(caller, requests.get(), isRight));
        }
        return traffic;
    }

    private void run(Caller caller, Request request, Predicate<Response> isRight) {
        try {
            while (!ending) {
                call(caller, request, isRight);
            }
        } finally {
            ended.countDown();
        }
    }

    private void call(Caller caller, Request request, Predicate<Response> isRight) {
        calls.incrementAndGet();
        try (Response response = caller.call(request)) {
            if (!isRight.test(response)) {
                wrong.incrementAndGet();
            }
            long nowNs = System.nanoTime();
            maxGapNs.accumulateAndGet(nowNs - lastResponseNs.getAndSet(nowNs), Math::max);
            responded.incrementAndGet();
        } catch (CallException e) {
            failed.incrementAndGet();
            firstFailure.compareAndSet("", e.getMessage());
        }
    }

    /** Waits until this many more calls have a response. */
    void awaitMore(long more) throws DemoFailedException {
        long goal = responded.get() + more;
        long untilNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_S);
        while (responded.get() < goal) {
            if (failed.get() > 0 || System.nanoTime() > untilNs) {
                throw new DemoFailedException("the calls do not go on: " + firstFailure.get());
            }
            LockSupport.parkNanos(LOOK_NS);
        }
    }

    /** Stops the calls and waits for their outcomes. */
    Outcome end() throws DemoFailedException {
        ending = true;
        try {
            if (!ended.await(LIMIT_S, TimeUnit.SECONDS)) {
                throw new DemoFailedException("a call has no outcome after " + LIMIT_S + " s");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return new Outcome(
                calls.get(), responded.get(), failed.get(), wrong.get(), maxGapNs.get() / 1e6, firstFailure.get());
    }
}
