package io.waybill.system;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A worker that leaves and joins again under calls that never rest: each is responded to by the incarnation that ran it, or lost with the incarnation that it
 * was for.
 */
@Tag("ci")
@Timeout(600)
class RejoinSystemTest {

    private static final int INCARNATIONS = 60;
    private static final int RESPONSES_PER_INCARNATION = 40;
    private static final int CALLERS = 2;
    private static final int WINDOW = 16;
    private static final long PAUSE_NS = 50_000;

    @TempDir
    private Path directory;

    // The greatest epoch that has joined, and the greatest that began to leave: told to the callers.
    private volatile long joined;
    private volatile long leaving;
    private volatile boolean stopped;

    private final AtomicInteger responses = new AtomicInteger();
    private final AtomicInteger lost = new AtomicInteger();
    /** The greatest epoch that had begun to leave when the caller was told that its call was lost. */
    private final Map<Long, Long> leavingWhenLost = new ConcurrentHashMap<>();

    private final Map<Long, String> responded = new ConcurrentHashMap<>();
    private final List<String> wrong = new ArrayList<>();

    @Test
    void respondsToWhatTheNewIncarnationRunsAndRunsNothingThatWasLost() throws Exception {
        Path log = directory.resolve("calls");
        try (Swarm swarm = new Swarm(directory.resolve("home"), log)) {
            Worker caller = swarm.join("caller");
            List<Thread> threads = start(caller);
            for (int incarnation = 1; incarnation <= INCARNATIONS; incarnation++) {
                Worker callee = swarm.join("callee");
                joined = incarnation;
                assertThat(callee.directory().epoch()).isEqualTo(incarnation);
                int before = responses.get();
                Waits.until("responses", () -> responses.get() >= before + RESPONSES_PER_INCARNATION);
                leaving = incarnation;
                swarm.leave(callee);
            }
            stopped = true;
            for (Thread thread : threads) {
                thread.join();
            }
            Waits.until("no call open", () -> caller.pendingCalls() == 0);
            assertThat(caller.counters().lateResponses())
                    .as("refusals of lost calls, and nothing that was read twice")
                    .isLessThanOrEqualTo(lost.get());
        }
        check(Outcomes.read(log).hasNothingTwice());
    }

    private void check(Outcomes log) {
        assertThat(wrong).isEmpty();
        assertThat(lost.get()).as("calls that were sent and lost").isPositive();
        assertThat(responded.keySet()).doesNotContainAnyElementsOf(leavingWhenLost.keySet());
        assertThat(log.handled.keySet()).as("what was responded to was run").containsAll(responded.keySet());
        leavingWhenLost.forEach((id, left) -> assertThat(log.handled.getOrDefault(id, 0L))
                .as("the life that ran a lost call was leaving when its caller was told")
                .isLessThanOrEqualTo(left));
    }

    private List<Thread> start(Worker caller) {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < CALLERS; i++) {
            threads.add(new Thread(() -> callAndWait(caller), "waiting-caller-" + i));
        }
        threads.add(new Thread(() -> callAndListen(caller), "listening-caller"));
        threads.forEach(thread -> {
            thread.setDaemon(true);
            thread.start();
        });
        return threads;
    }

    private static Request request() {
        return Request.raw("callee", MessageType.userRequest(0x42), ByteBuffer.allocate(64), List.of())
                .timeout(Duration.ofSeconds(60));
    }

    private void callAndWait(Worker caller) {
        while (!stopped) {
            long sentTo = joined;
            try (Response response = caller.call(request())) {
                responded(response.id());
            } catch (CallException e) {
                failed(e, sentTo);
            }
            LockSupport.parkNanos(PAUSE_NS);
        }
    }

    private void callAndListen(Worker caller) {
        Semaphore window = new Semaphore(WINDOW);
        while (!stopped) {
            window.acquireUninterruptibly();
            long sentTo = joined;
            try {
                caller.call(request(), new Outcome(window, sentTo));
            } catch (CallException e) {
                window.release();
                failed(e, sentTo);
            }
            LockSupport.parkNanos(PAUSE_NS);
        }
    }

    private void responded(long id) {
        responses.incrementAndGet();
        note(responded.put(id, "responded to") == null, "responded to twice: " + MessageId.text(id));
    }

    /** @param sentTo the epoch that had joined before the call was made */
    private void failed(CallException e, long sentTo) {
        long left = leaving;
        note(e.code() == ErrorCode.WORKER_LOST || sentTo == 0 && e.code() == ErrorCode.UNKNOWN_WORKER, e.toString());
        note(sentTo <= left, "generation " + sentTo + " had joined and stayed: " + e.getMessage());
        if (e.messageId() != MessageId.NONE) {
            lost.incrementAndGet();
            note(leavingWhenLost.put(e.messageId(), left) == null, "lost twice: " + e.getMessage());
        }
    }

    private void note(boolean right, String otherwise) {
        if (!right) {
            synchronized (wrong) {
                wrong.add(otherwise);
            }
        }
    }

    private final class Outcome implements ResponseListener {
        private final Semaphore window;
        private final long sentTo;

        Outcome(Semaphore window, long sentTo) {
            this.window = window;
            this.sentTo = sentTo;
        }

        @Override
        public void onResponse(Response response) {
            responded(response.id());
            window.release();
        }

        @Override
        public void onFailure(CallException failure) {
            failed(failure, sentTo);
            window.release();
        }
    }
}
