package io.waybill.testing;

import io.waybill.api.CallException;
import io.waybill.api.Caller;
import io.waybill.api.MessageId;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.host.Host;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * Concurrent calls during a test, with their outcomes.
 *
 * <p><b>Threads.</b> A few separate threads, each with sequential calls; one thread starts it, waits and stops it.
 * <b>Ownership.</b> Its creator stops it.
 */
final class Traffic {

    private static final int CALLERS = 4;
    private static final int MAX_PROBLEMS = 5;

    private final Caller caller;
    private final Supplier<Request> requests;
    private final Predicate<Response> isRight;
    private final Duration timeout;
    private final List<Thread> threads = new ArrayList<>();
    // These are guarded by this.
    private final List<String> problems = new ArrayList<>();
    private long calls;
    private long responded;
    private long wrong;
    private long failed;
    private boolean ending;

    private Traffic(Caller caller, Supplier<Request> requests, Predicate<Response> isRight, Duration timeout) {
        this.caller = caller;
        this.requests = requests;
        this.isRight = isRight;
        this.timeout = timeout;
    }

    static Traffic start(
            Host host, Caller caller, Supplier<Request> requests, Predicate<Response> isRight, Duration timeout) {
        Traffic traffic = new Traffic(caller, requests, isRight, timeout);
        for (int i = 1; i <= CALLERS; i++) {
            traffic.threads.add(host.threads().start("traffic-" + i, traffic::run));
        }
        return traffic;
    }

    private void run() {
        while (begin()) {
            try (Response response = caller.call(requests.get().timeout(timeout))) {
                if (isRight.test(response)) {
                    responded();
                } else {
                    wrong("call " + MessageId.text(response.id()) + " has the response " + response.value());
                }
            } catch (CallException e) {
                failed("call " + MessageId.text(e.messageId()) + " ended with " + e.code() + ": " + e.getMessage());
            } catch (RuntimeException e) { // the test's own code
                failed("the test's request or check threw " + e);
                return;
            }
        }
    }

    private synchronized boolean begin() {
        if (ending) {
            return false;
        }
        calls++;
        return true;
    }

    private synchronized void responded() {
        responded++;
        notifyAll();
    }

    private synchronized void wrong(String problem) {
        wrong++;
        add(problem);
    }

    private synchronized void failed(String problem) {
        failed++;
        add(problem);
    }

    private void add(String problem) {
        if (problems.size() < MAX_PROBLEMS) {
            problems.add(problem);
        }
        notifyAll();
    }

    /** Waits until this many more calls have an outcome, or one failed. */
    synchronized void awaitMore(long more) throws InterruptedException {
        long goal = responded + more;
        while (responded < goal && problems.isEmpty()) {
            wait();
        }
    }

    /** Waits for the calls in flight, up to their timeouts. */
    TrafficOutcome end() throws InterruptedException {
        synchronized (this) {
            ending = true;
        }
        for (Thread thread : threads) {
            thread.join();
        }
        synchronized (this) {
            return new TrafficOutcome(calls, responded, wrong, failed, problems);
        }
    }
}
