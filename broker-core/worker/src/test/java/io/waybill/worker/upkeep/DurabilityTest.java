package io.waybill.worker.upkeep;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.home.WorkerRecord;
import io.waybill.host.Boots;
import io.waybill.host.Host;
import io.waybill.host.WatchedSyncs;
import io.waybill.journal.Durability;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(180)
class DurabilityTest {

    private static final WorkerSettings EACH = with(Durability.EACH);
    private static final WorkerSettings INTERVAL = with(Durability.INTERVAL);

    @TempDir
    private Path directory;

    private final Queue<String> synced = new ConcurrentLinkedQueue<>();
    private final CountDownLatch released = new CountDownLatch(1);
    private volatile String held = "none";
    private volatile String failing = "none";

    private Workers workers;
    private HandlerRegistry handlers;
    private final AtomicInteger handled = new AtomicInteger();

    private static WorkerSettings with(Durability durability) {
        return Workers.SETTINGS.toBuilder()
                .journal(Workers.SETTINGS.journal().withDurability(durability).withSyncInterval(Duration.ofMillis(1)))
                .build();
    }

    @BeforeEach
    void watch() throws IOException {
        workers = new Workers(directory, WatchedSyncs.host(this::beforeSync));
        handlers = workers.registry();
        workers.handleOnPoller(handlers, "0x142", (message, outbox) -> {
            handled.incrementAndGet();
            outbox.respond(message.payload());
        });
    }

    /** Keys are such as {@code caller/requests}. */
    private void beforeSync(Path file) throws IOException {
        String path = file.toString();
        if (!path.endsWith(".cq4")) {
            return;
        }
        synced.add(path);
        if (path.contains(held)) {
            awaitRelease();
        }
        if (path.contains(failing)) {
            throw new IOException("a disk that fails");
        }
    }

    private void awaitRelease() {
        try {
            assertThat(released.await(30, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @AfterEach
    void leave() throws IOException {
        released.countDown();
        held = "none";
        failing = "none";
        workers.close();
    }

    private static Request request(String to) {
        return Request.raw(to, MessageType.userRequest(0x42), ByteBuffer.wrap(new byte[] {1, 2, 3}), List.of());
    }

    private static ErrorCode codeOf(CompletableFuture<Response> call) throws Exception {
        try {
            call.get(30, TimeUnit.SECONDS);
            throw new AssertionError("it was responded to");
        } catch (ExecutionException e) {
            return ((CallException) e.getCause()).code();
        }
    }

    @Test
    void respondsWhereEachRecordIsSynced() throws Exception {
        workers.join("server", handlers, EACH);
        Worker caller = workers.join("caller", workers.registry(), EACH);
        for (int i = 0; i < 20; i++) {
            caller.call(request("server")).close();
        }
        List<CompletableFuture<Response>> calls = new ArrayList<>();
        for (int i = 0; i < 2000; i++) {
            calls.add(caller.callAsync(request("server")));
        }
        for (CompletableFuture<Response> call : calls) {
            call.get(30, TimeUnit.SECONDS).close();
        }
        assertThat(handled).hasValue(2020);
        // several share a sync
        assertThat(synced).hasSizeGreaterThan(40).hasSizeLessThan(2 * 2020);
    }

    @Test
    void callsItselfWhereEachRecordIsSynced() {
        Worker worker = joined("server", EACH);
        for (int i = 0; i < 20; i++) {
            worker.call(request("server")).close();
        }
        assertThat(handled).hasValue(20);
    }

    private Worker joined(String name, WorkerSettings settings) {
        try {
            return workers.join(name, handlers, settings);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void handlesNoRequestThatIsNotOnTheDisk() throws Exception {
        workers.join("server", handlers); // of whatever durability: the sender's counts
        Worker caller = workers.join("caller", workers.registry(), EACH);
        caller.call(request("server")).close();
        held = "caller/requests";
        CompletableFuture<Response> call = caller.callAsync(request("server"));
        Worker other = workers.join("other", workers.registry());
        for (int i = 0; i < 100; i++) {
            other.call(request("server")).close(); // the server has polled
        }
        assertThat(handled).hasValue(101);
        released.countDown();
        call.get(30, TimeUnit.SECONDS).close();
        assertThat(handled).hasValue(102);
    }

    @Test
    void completesNoCallWhoseResponseIsNotOnTheDisk() throws Exception {
        workers.join("server", handlers, EACH);
        Worker other = workers.join("other", handlers);
        Worker caller = workers.join("caller", workers.registry());
        caller.call(request("server")).close();
        held = "server/responses";
        CompletableFuture<Response> call = caller.callAsync(request("server"));
        Waits.until("handled", () -> handled.get() == 2);
        for (int i = 0; i < 100; i++) {
            caller.call(request("other")).close(); // the caller has polled
        }
        assertThat(call).isNotDone();
        released.countDown();
        call.get(30, TimeUnit.SECONDS).close();
        assertThat(other.failure()).isNotDone();
    }

    @Test
    void waitsForNoSyncWhereTheyAreMadeNowAndThen() throws Exception {
        workers.join("server", handlers, INTERVAL);
        Worker caller = workers.join("caller", workers.registry(), INTERVAL);
        caller.call(request("server")).close();
        held = "/workers/";
        Waits.until("a sync is under way", () -> {
            caller.call(request("server")).close();
            return synced.stream().anyMatch(path -> path.contains("caller/requests"))
                    && synced.stream().anyMatch(path -> path.contains("server/responses"));
        });
        for (int i = 0; i < 100; i++) {
            caller.call(request("server")).close();
        }
        released.countDown();
        long before = caller.directory().cursors().requestsOnDiskBefore();
        caller.call(request("server")).close();
        Waits.until("on the disk", () -> caller.directory().cursors().requestsOnDiskBefore() > before);
    }

    @Test
    void syncsNothingThatNeedOnlySurviveAProcess() throws Exception {
        workers.join("server", handlers);
        Worker caller = workers.join("caller");
        for (int i = 0; i < 100; i++) {
            caller.call(request("server")).close();
        }
        workers.close();
        assertThat(synced).isEmpty();
    }

    @Test
    void showsWhatItPromises() throws Exception {
        assertThat(workers.join("a").directory().record().settings()).containsEntry(WorkerRecord.DURABILITY, "process");
        assertThat(workers.join("b", workers.registry(), INTERVAL)
                        .directory()
                        .record()
                        .settings())
                .containsEntry(WorkerRecord.DURABILITY, "interval 1ms");
        assertThat(workers.join("c", workers.registry(), EACH)
                        .directory()
                        .record()
                        .settings())
                .containsEntry(WorkerRecord.DURABILITY, "each");
    }

    @Test
    void stopsACallerWhoseFirstSyncFailed() throws Exception {
        workers.join("server", handlers);
        for (WorkerSettings settings : List.of(EACH, INTERVAL)) {
            Worker caller = workers.join("caller", workers.registry(), settings);
            caller.call(request("server")).close();
            CompletableFuture<Response> stays = hangingCall(caller);
            failing = "caller/requests";
            CompletableFuture<Response> lost = callUnlessItFailed(caller);
            caller.failure().get(30, TimeUnit.SECONDS);
            if (settings == EACH) {
                assertThat(codeOf(lost)).isEqualTo(ErrorCode.JOURNAL_FAILED);
            }
            assertThat(codeOf(stays)).isEqualTo(ErrorCode.JOURNAL_FAILED);
            int syncs = synced.size();
            assertThatThrownBy(() -> caller.call(request("server")))
                    .isInstanceOfSatisfying(
                            CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.JOURNAL_FAILED));
            caller.close();
            assertThat(synced).as("a sync that failed is not repeated").hasSize(syncs);
            failing = "none";
        }
    }

    /** With an interval, what was sent before may be synced meanwhile, and fail first. */
    private CompletableFuture<Response> callUnlessItFailed(Worker caller) {
        try {
            return caller.callAsync(request("server"));
        } catch (CallException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    /** A call to a worker that never responds. */
    private CompletableFuture<Response> hangingCall(Worker caller) throws IOException {
        HandlerRegistry silent = workers.registry();
        workers.handle(silent, "0x142", (message, outbox) -> outbox.later());
        String name = "silent" + System.identityHashCode(caller);
        workers.join(name, silent);
        return caller.callAsync(request(name));
    }

    @Test
    void notifiesTheCallersOfAWorkerWhoseSyncFailed() throws Exception {
        Worker server = workers.join("server", handlers, EACH);
        Worker caller = workers.join("caller");
        caller.call(request("server")).close();
        failing = "server/responses";
        CompletableFuture<Response> lost = caller.callAsync(request("server"));
        assertThat(codeOf(lost)).isEqualTo(ErrorCode.WORKER_LOST);
        server.failure().get(30, TimeUnit.SECONDS);
        failing = "none";
        Path boot = server.directory().path().resolve("responses/boot");
        assertThat(boot).content().contains("boot=failed");
        workers.join("server", handlers, EACH);
        assertThat(boot).content().doesNotContain("failed");
        caller.call(request("server")).close();
    }

    @Test
    void givesNoIdAgainAfterTheHostWasRestarted() throws Exception {
        workers.join("server", handlers);
        Worker caller = workers.join("caller");
        long before;
        try (Response response = caller.call(request("server"))) {
            before = response.id();
        }
        workers.close();
        for (WorkerSettings settings : List.of(Workers.SETTINGS, EACH)) {
            try (Workers again = new Workers(directory, Boots.in(Host.real(), "boot-" + settings.hashCode()))) {
                again.join("server", handlers, settings);
                Worker returned = again.join("caller", again.registry(), settings);
                try (Response response = returned.call(request("server"))) {
                    assertThat(response.id()).isGreaterThanOrEqualTo(before + (1L << 32));
                    before = response.id();
                }
            }
        }
        assertThat(handled).hasValue(3);
    }

    @Test
    void refusesToJoinWhenWhatIsThereCannotBeSynced() {
        failing = "server/requests";
        assertThatThrownBy(() -> workers.join("server", handlers, EACH)).isInstanceOf(IOException.class);
        failing = "none";
        Worker worker = joined("server", EACH);
        worker.call(request("server")).close();
    }
}
