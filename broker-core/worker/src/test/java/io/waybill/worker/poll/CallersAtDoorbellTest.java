package io.waybill.worker.poll;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.host.FaultyRestores;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Callers that sleep in the place of their worker's poller until their response is there. */
@Timeout(300)
class CallersAtDoorbellTest {

    private static final WorkerSettings SLEEPS =
            Workers.SETTINGS.toBuilder().waiting(Waiting.LOW_CPU).build();
    private static final long HANDLER_NS = 2_000_000;
    private static final long STANDBY_NS = 50_000_000;

    @TempDir
    private Path directory;

    private final CountDownLatch hold = new CountDownLatch(1);
    private final AtomicInteger faults = new AtomicInteger();
    private volatile Thread faulty; // each second of its attempts to restore rings succeeds; null for none
    private volatile boolean failedLast;
    private Workers workers;
    private HandlerRegistry own; // of the caller
    private Worker caller;

    @BeforeEach
    void join() throws IOException {
        workers = new Workers(directory, FaultyRestores.host(this::isFaultDue));
        HandlerRegistry handlers = workers.registry();
        workers.join("server", handlers, SLEEPS);
        workers.handle(handlers, "text.slow", (message, outbox) -> {
            workers.host.threads().pause(HANDLER_NS);
            outbox.respond(Value.of("on"));
        });
        workers.handle(handlers, "text.held", (message, outbox) -> {
            awaitHold();
            outbox.respond(Value.of("on"));
        });
        own = workers.registry();
        workers.handle(own, "text.back", (message, outbox) -> outbox.respond(Value.of("back")));
        caller = workers.join("caller", own, SLEEPS);
        call("text.slow");
        workers.host.threads().pause(STANDBY_NS); // the poller sleeps now, most often
    }

    private boolean isFaultDue() {
        if (Thread.currentThread() != faulty) {
            return false;
        }
        failedLast = !failedLast;
        if (failedLast) {
            faults.incrementAndGet();
        }
        return failedLast;
    }

    @AfterEach
    void leave() throws IOException {
        hold.countDown();
        workers.close();
    }

    private void awaitHold() {
        try {
            hold.await(200, TimeUnit.SECONDS);
        } catch (InterruptedException e) { // its worker leaves
            Thread.currentThread().interrupt();
        }
    }

    private static Request to(String worker, String operation) {
        return Request.operation(worker, operation).timeout(Duration.ofSeconds(100));
    }

    private void call(String operation) {
        try (Response response = caller.call(to("server", operation))) {
            assertThat(response.value()).isEqualTo(Value.of("on"));
        }
    }

    /** Keeps what the call throws, of whatever kind, for the thread of the test. */
    private void callHeldInto(AtomicReference<Throwable> failure) {
        try {
            call("text.held");
        } catch (Throwable e) {
            failure.set(e);
        }
    }

    private Thread callHeld(AtomicReference<Throwable> failure) {
        Thread thread = workers.host.threads().start("waits", () -> callHeldInto(failure));
        Waits.until("the caller sleeps", () -> sleeps(thread));
        return thread;
    }

    /** At the doorbell; or parked, if its poller was awake. What is promised holds for both. */
    private static boolean sleeps(Thread thread) {
        return isAtDoorbell(thread) || thread.getState() == Thread.State.TIMED_WAITING;
    }

    private static boolean isAtDoorbell(Thread thread) {
        for (StackTraceElement frame : thread.getStackTrace()) {
            if (frame.getMethodName().equals("awaitRing")) {
                return true;
            }
        }
        return false;
    }

    /** Returns how often a thread of this process has gone to sleep by itself. */
    private static long sleeps(String thread) throws IOException {
        try (DirectoryStream<Path> tasks = Files.newDirectoryStream(Path.of("/proc/self/task"))) {
            for (Path task : tasks) {
                if (nameOf(task).equals(thread)) {
                    return Files.readAllLines(task.resolve("status")).stream()
                            .filter(line -> line.startsWith("voluntary_ctxt_switches:"))
                            .mapToLong(line -> Long.parseLong(
                                    line.substring(line.indexOf(':') + 1).strip()))
                            .findAny()
                            .orElseThrow();
                }
            }
        }
        throw new IOException("no thread " + thread);
    }

    /** Returns the name of a thread; empty if it has ended since it was listed. */
    private static String nameOf(Path task) {
        try {
            return Files.readString(task.resolve("comm")).strip();
        } catch (IOException e) {
            return "";
        }
    }

    /** The poller stands by for some milliseconds after it was awake, and is woken then; so it counts in which round of calls it was woken least. */
    @Test
    void aResponseWakesItsCallerAndNotThePoller() throws IOException {
        int calls = 50;
        long least = Long.MAX_VALUE;
        for (int round = 0; round < 20; round++) {
            workers.host.threads().pause(STANDBY_NS);
            long before = sleeps("caller-poller-1");
            for (int i = 0; i < calls; i++) {
                call("text.slow");
            }
            least = Math.min(least, sleeps("caller-poller-1") - before);
        }
        assertThat(least)
                .as("wake-ups of the poller for %s calls, in the best of 20 rounds", calls)
                .isLessThan(calls / 2);
    }

    /** JDK 17 reports a fault in a mapped file late, on any thread of the process: it is no failure of the call. */
    @Test
    void aFaultThatIsReportedAfterTheSleepFailsNoCall() throws Exception {
        faulty = Thread.currentThread();
        for (int i = 0; i < 500 && faults.get() < 5; i++) { // a call is not at the doorbell while the poller stands by
            workers.host.threads().pause(STANDBY_NS);
            call("text.slow");
            assertThat(failedLast)
                    .as("whether the call left the rings diverted")
                    .isFalse();
        }
        assertThat(faults.get()).as("faults that were reported").isEqualTo(5);
        faulty = null;
        assertOthersAreServedMeanwhile();
    }

    @Test
    void requestsOfOthersAreServedMeanwhile() throws Exception {
        assertOthersAreServedMeanwhile();
    }

    private void assertOthersAreServedMeanwhile() throws Exception {
        AtomicReference<Throwable> failure = new AtomicReference<>();
        Thread waits = callHeld(failure);
        Worker other = workers.join("other", workers.registry(), SLEEPS);
        for (int i = 0; i < 100; i++) {
            try (Response response = other.call(to("caller", "text.back"))) {
                assertThat(response.value()).isEqualTo(Value.of("back"));
            }
        }
        hold.countDown();
        waits.join(TimeUnit.SECONDS.toMillis(100));
        assertThat(waits.isAlive()).isFalse();
        assertThat(failure.get()).isNull();
    }

    @Test
    void aHandlerThatHangsMeanwhileKeepsNoOtherRequest() throws Exception {
        AtomicReference<Throwable> failure = new AtomicReference<>();
        CountDownLatch hangs = new CountDownLatch(1);
        CountDownLatch hang = new CountDownLatch(1);
        workers.handleOnPoller(own, "text.hangs", (message, outbox) -> {
            hangs.countDown();
            while (hang.getCount() > 0) {
                workers.host.threads().pause(HANDLER_NS);
            }
            outbox.respond(Value.of("late"));
        });
        Thread waits = callHeld(failure);
        Worker other = workers.join("other", workers.registry(), SLEEPS);
        CompletableFuture<Response> late = other.callAsync(to("caller", "text.hangs"));
        assertThat(hangs.await(100, TimeUnit.SECONDS)).isTrue(); // on the thread that waits, most often
        for (int i = 0; i < 20; i++) {
            try (Response response = other.call(to("caller", "text.back"))) {
                assertThat(response.value()).isEqualTo(Value.of("back"));
            }
        }
        assertThat(late).isNotDone();
        hang.countDown();
        try (Response response = late.get(100, TimeUnit.SECONDS)) {
            assertThat(response.value()).isEqualTo(Value.of("late"));
        }
        hold.countDown();
        waits.join(TimeUnit.SECONDS.toMillis(100));
        assertThat(failure.get()).isNull();
        assertThat(caller.pendingCalls() + other.pendingCalls())
                .as("calls in flight")
                .isZero();
    }

    @Test
    void leavesWhenItsWorkerDoes() throws Exception {
        AtomicReference<Throwable> failure = new AtomicReference<>();
        Thread waits = callHeld(failure);
        caller.close();
        waits.join(TimeUnit.SECONDS.toMillis(100));
        assertThat(waits.isAlive()).as("whether the caller still waits").isFalse();
        assertThat(failure.get()).isInstanceOf(CallException.class);
    }

    @Test
    void timesOut() {
        assertThatThrownBy(() -> caller.call(to("server", "text.held").timeout(Duration.ofMillis(50))))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.TIMED_OUT));
    }

    @Test
    void anInterruptIsKeptUntilTheResponseIsThere() throws Exception {
        AtomicReference<Throwable> failure = new AtomicReference<>();
        AtomicReference<Boolean> kept = new AtomicReference<>();
        Thread waits = workers.host.threads().start("waits", () -> {
            callHeldInto(failure);
            kept.set(Thread.currentThread().isInterrupted());
        });
        Waits.until("the caller sleeps", () -> sleeps(waits));
        waits.interrupt();
        call("text.slow"); // by another caller of the same worker
        hold.countDown();
        waits.join(TimeUnit.SECONDS.toMillis(100));
        assertThat(failure.get()).isNull();
        assertThat(kept.get())
                .as("whether the thread is interrupted after the call")
                .isTrue();
    }

    @Test
    void aVirtualThreadDoesNotKeepItsCarrier() throws Exception {
        assumeTrue(Runtime.version().feature() >= 21, "there are no virtual threads before Java 21");
        AtomicReference<Throwable> failure = new AtomicReference<>();
        Runnable body = () -> callHeldInto(failure);
        Thread thread = (Thread)
                Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, body);
        Waits.until("the call is parked", () -> thread.getState() == Thread.State.TIMED_WAITING);
        assertThat(isAtDoorbell(thread)).isFalse();
        hold.countDown();
        thread.join(TimeUnit.SECONDS.toMillis(100));
        assertThat(failure.get()).isNull();
    }
}
