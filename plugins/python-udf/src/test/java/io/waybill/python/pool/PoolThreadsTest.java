package io.waybill.python.pool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.testing.core.ManualBroker;
import io.waybill.testing.core.RecordingOutbox;
import io.waybill.testing.core.TestMessage;
import io.waybill.testing.core.Waits;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The threads of a pool's process, refused once by the host, and interrupted. Its command is one that never connects. */
@Timeout(120)
class PoolThreadsTest {

    private static final AtomicInteger COUNT = new AtomicInteger();

    /** For what takes half a second here. */
    private static final Duration LIMIT = Duration.ofSeconds(20);

    /** By which the process is found. */
    private final String seconds =
            Long.toString(1_000_000 + 100 * ProcessHandle.current().pid() + COUNT.incrementAndGet());

    @TempDir
    private Path directory;

    private ProcessPool pool;

    private ProcessPool pool(Duration startLimit, ThreadFactory threads) {
        PoolSettings settings = new PoolSettings(
                List.of("/bin/sleep", seconds), List.of(), 1, startLimit, Duration.ZERO, false, "", false);
        pool = new ProcessPool(settings, new ManualBroker(), () -> directory.resolve("no.sock"), threads);
        return pool;
    }

    @AfterEach
    void close() {
        List<ProcessHandle> left = processes();
        try {
            within("the pool is closed, for which all its processes and their threads end", pool::close);
            assertThat(processes()).as("processes of a pool that was closed").isEmpty();
        } finally {
            left.forEach(ProcessHandle::destroyForcibly);
        }
    }

    /** Runs it on a thread of its own: a pool that waits for something that does not come fails the test by what was waited for. */
    private static void within(String what, Runnable body) {
        assertThat(CompletableFuture.runAsync(body)).as(what).succeedsWithin(LIMIT);
    }

    private List<ProcessHandle> processes() {
        return ProcessHandle.current()
                .descendants()
                .filter(process -> process.isAlive()
                        && List.of(process.info().arguments().orElse(new String[0]))
                                .contains(seconds))
                .toList();
    }

    private static void serve(ProcessPool pool) throws RejectedMessageException {
        Request request = Request.raw("node", MessageType.PYTHON_CALL, ByteBuffer.allocate(8), List.of());
        pool.serve(TestMessage.of(request), new RecordingOutbox());
    }

    /** Makes threads whose n-th start is refused. */
    private static ThreadFactory refusing(int nth) {
        AtomicInteger made = new AtomicInteger();
        return body -> {
            if (made.incrementAndGet() == nth) {
                throw new OutOfMemoryError("unable to create native thread: made by the test");
            }
            return PoolProcess.thread(body);
        };
    }

    @ParameterizedTest(name = "python-pool-{0}")
    @ValueSource(strings = {"start", "output"})
    void isRefusedWithoutAThreadAndStartsAtTheNextCall(String role) {
        ProcessPool refused = pool(Duration.ofMillis(500), refusing(role.equals("start") ? 1 : 2));
        assertThatThrownBy(() -> serve(refused))
                .isInstanceOfSatisfying(
                        RejectedMessageException.class,
                        e -> assertThat(e.code()).isEqualTo(ErrorCode.RESOURCE_UNAVAILABLE))
                .hasMessageContaining("no thread for a Python process: the host refused it");
        assertStarts(refused);
    }

    private void assertStarts(ProcessPool pool) {
        within(
                "a call whose process does not connect gets its error, whatever happens to the threads of the process",
                () -> assertThatThrownBy(() -> serve(pool))
                        .hasMessageMatching("Python process [0-9]+ has not connected within .*"));
        for (ProcessHandle process : processes()) {
            assertThat(process.onExit())
                    .as("the process that did not connect is ended")
                    .succeedsWithin(LIMIT);
        }
    }

    @Test
    void endsItsProcessWithoutAThread() {
        assertStarts(pool(Duration.ofMillis(500), refusing(3)));
    }

    @Test
    void isDeafToInterrupts() {
        ProcessPool interrupted = pool(Duration.ofSeconds(3), PoolProcess::thread);
        CompletableFuture<Void> interrupts = CompletableFuture.runAsync(() -> {
            Waits.until("a process has started", () -> processes().size() == 1);
            assertThat(threads().peek(Thread::interrupt).toList())
                    .as("threads of the pool")
                    .hasSize(2);
        });
        assertStarts(interrupted);
        assertThat(interrupts)
                .as("both threads of the process were interrupted")
                .succeedsWithin(LIMIT);
        for (Thread thread : threads().toList()) {
            within("thread " + thread.getName() + " has ended", () -> join(thread));
        }
        assertStarts(interrupted);
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static Stream<Thread> threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("python-pool-"));
    }
}
