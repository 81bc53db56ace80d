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
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
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

    @TempDir
    private Path directory;

    private final CountDownLatch hold = new CountDownLatch(1);
    private Workers workers;
    private Worker caller;

    @BeforeEach
    void join() throws IOException {
        workers = new Workers(directory);
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
        HandlerRegistry own = workers.registry();
        workers.handle(own, "text.back", (message, outbox) -> outbox.respond(Value.of("back")));
        caller = workers.join("caller", own, SLEEPS);
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

    private Thread callHeld(AtomicReference<Throwable> failure) {
        Thread thread = workers.host.threads().start("waits", () -> {
            try {
                call("text.held");
            } catch (Throwable e) {
                failure.set(e);
            }
        });
        Waits.until("the caller sleeps at the doorbell", () -> isAtDoorbell(thread));
        return thread;
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
                if (Files.readString(task.resolve("comm")).strip().equals(thread)) {
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

    @Test
    void aResponseWakesItsCallerAndNotThePoller() throws IOException {
        int calls = 500;
        for (int i = 0; i < calls; i++) {
            call("text.slow");
        }
        long before = sleeps("caller-poller-1");
        for (int i = 0; i < calls; i++) {
            call("text.slow");
        }
        assertThat(sleeps("caller-poller-1") - before)
                .as("wake-ups of the poller for %s calls", calls)
                .isLessThan(calls / 2);
    }

    @Test
    void requestsOfOthersAreServedMeanwhile() throws Exception {
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
            try {
                call("text.held");
            } catch (Throwable e) {
                failure.set(e);
            }
            kept.set(Thread.currentThread().isInterrupted());
        });
        Waits.until("the caller sleeps at the doorbell", () -> isAtDoorbell(waits));
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
        Runnable body = () -> {
            try {
                call("text.held");
            } catch (Throwable e) {
                failure.set(e);
            }
        };
        Thread thread = (Thread)
                Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, body);
        Waits.until("the call is parked", () -> thread.getState() == Thread.State.TIMED_WAITING);
        assertThat(isAtDoorbell(thread)).isFalse();
        hold.countDown();
        thread.join(TimeUnit.SECONDS.toMillis(100));
        assertThat(failure.get()).isNull();
    }
}
