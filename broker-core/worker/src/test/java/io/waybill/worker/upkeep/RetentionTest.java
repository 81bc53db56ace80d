package io.waybill.worker.upkeep;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.MessageHandler;
import io.waybill.dispatch.DeliveryPolicy;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.Provider;
import io.waybill.home.Membership;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.WorkerRecord;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.QueueFile;
import io.waybill.journal.QueueFiles;
import io.waybill.journal.RetentionSettings;
import io.waybill.journal.Roll;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.Workers;
import io.waybill.worker.peer.FlowLimits;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What is removed from a journal, what is kept, and for whom. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class RetentionTest {

    private static final long QUOTA = 32L << 20;
    private static final int PAYLOAD = 64 << 10;
    private static final int CALLS_PER_PEER = 64;
    private static final int INDEXED = 8 << 20;
    private static final String ECHO = "0x142";
    private static final String LATER = "0x143";
    private static final RetentionSettings BY_BYTES = RetentionSettings.DEFAULTS.withMaxBytes(QUOTA);
    private static final RetentionSettings BY_COUNT = RetentionSettings.DEFAULTS.withMaxCycles(3);

    @TempDir
    private Path directory;

    private final AtomicReference<LateResponse> kept = new AtomicReference<>();
    private Workers workers;
    private HandlerRegistry handlers;

    @BeforeEach
    void begin() throws IOException {
        workers = new Workers(directory);
        handlers = workers.registry();
        workers.handleOnPoller(handlers, ECHO, (message, outbox) -> outbox.respond(message.payload()));
        workers.handle(handlers, LATER, (message, outbox) -> kept.set(outbox.later()));
    }

    @AfterEach
    void leave() throws IOException {
        workers.close();
    }

    private Worker join(String name, RetentionSettings retention) throws IOException {
        WorkerSettings settings = Workers.SETTINGS.toBuilder()
                .journal(new JournalSettings(Roll.MINUTELY, 4 << 20, 1 << 20, 1 << 20).withFileBytes(1 << 20))
                .retention(retention)
                .limits(FlowLimits.defaults().withCallsPerPeer(CALLS_PER_PEER))
                .build();
        return workers.join(name, handlers, settings);
    }

    private static Request request(String to, int type) {
        return Request.raw(to, MessageType.userRequest(type), ByteBuffer.allocate(PAYLOAD), List.of());
    }

    private static void callMany(Worker caller, String to, int calls) {
        for (int i = 0; i < calls; i++) {
            try (Response response = caller.call(request(to, 0x42))) {
                assertThat(response.payload().remaining()).isEqualTo(PAYLOAD);
            }
        }
    }

    private List<QueueFile> files(Worker worker, JournalQueue queue) {
        try {
            return new QueueFiles(worker.directory().path(), queue, workers.host.files()).list();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private long bytes(Worker worker) {
        long bytes = 0;
        for (JournalQueue queue : JournalQueue.values()) {
            bytes += files(worker, queue).stream().mapToLong(QueueFile::bytes).sum();
        }
        return bytes;
    }

    /** Queue files of this test's home that were removed and that this process still has open or mapped. */
    private List<String> heldAlthoughRemoved() {
        List<String> held = new ArrayList<>();
        try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"));
                Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
            maps.filter(this::isRemoved).forEach(held::add);
            for (Path descriptor : descriptors.toList()) {
                String target = Files.isSymbolicLink(descriptor)
                        ? Files.readSymbolicLink(descriptor).toString()
                        : "";
                if (isRemoved(target)) {
                    held.add(target);
                }
            }
        } catch (IOException e) {
            return List.of("not known: " + e); // a descriptor was closed meanwhile
        }
        return held;
    }

    private boolean isRemoved(String file) {
        return file.contains(directory.toString()) && file.contains(".cq4") && file.endsWith("(deleted)");
    }

    @Test
    void removesNothingUnlessConfigured() throws IOException {
        join("server", RetentionSettings.DEFAULTS);
        Worker caller = join("caller", RetentionSettings.DEFAULTS);
        callMany(caller, "server", 200);
        assertThat(bytes(caller)).isGreaterThan(200L * PAYLOAD);
    }

    @Test
    void staysBelowItsQuotaUnderLoadAndHoldsNoRemovedFileOpen() throws IOException {
        Worker server = join("server", BY_BYTES);
        Worker caller = join("caller", BY_BYTES);
        for (int i = 0; i < 100; i++) {
            for (int call = 0; call < 20; call++) {
                Waits.until("there is room", () -> succeeds(caller)); // the disk may be faster than its removal
            }
            assertThat(bytes(caller)).isLessThanOrEqualTo(QUOTA);
            assertThat(bytes(server)).isLessThanOrEqualTo(QUOTA);
        }
        assertThat(2000L * PAYLOAD).isGreaterThan(3 * QUOTA);
        assertThat(bytes(caller)).as("what is kept of more than the quota").isGreaterThan(QUOTA / 2);
        Waits.until("no removed file is open", () -> heldAlthoughRemoved().isEmpty());
    }

    @Test
    void keepsNoMoreFilesThanItMay() throws IOException {
        join("server", BY_COUNT);
        Worker caller = join("caller", BY_COUNT);
        callMany(caller, "server", 200);
        Waits.until(
                "there are three files",
                () -> files(caller, JournalQueue.REQUESTS).size() == 3);
        callMany(caller, "server", 1);
    }

    @Test
    void removesWhatIsOlderThanItMayBe() throws IOException {
        RetentionSettings byAge = RetentionSettings.DEFAULTS.withMaxAge(Duration.ofMillis(1));
        Worker server = join("server", byAge);
        Worker caller = join("caller", byAge);
        callMany(caller, "server", 200);
        Waits.until(
                "only what is written now is there",
                () -> files(caller, JournalQueue.REQUESTS).size() == 1
                        && files(server, JournalQueue.RESPONSES).size() == 1);
    }

    @Test
    void keepsWhatALivePeerHasNotReadAndRefusesCallsInsteadUntilItLeaves() throws IOException {
        join("server", RetentionSettings.DEFAULTS);
        Worker caller = join("caller", BY_BYTES);
        WorkerDirectory silent = workers.home.join("silent"); // and reads nothing
        caller.directory().cursors().slot(silent.id());
        assertThatThrownBy(() -> callMany(caller, "server", 2000))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.JOURNAL_FULL))
                .hasMessageContaining("retention.max-bytes");
        Waits.until("it says who holds it back", () -> {
            succeeds(
                    caller); // until nothing more fits: the first refusal may have come before unused space was counted
            return caller.directory()
                    .record()
                    .settings()
                    .getOrDefault(WorkerRecord.RETENTION, "")
                    .contains("silent");
        });
        assertThat(bytes(caller)).isLessThanOrEqualTo(QUOTA);
        for (int i = 0; i <= CALLS_PER_PEER; i++) {
            Waits.until("a call is refused, and not in flight", () -> !succeeds(caller));
        }

        silent.leave();

        for (int i = 0; i < 500; i++) {
            Waits.until("there is room again", () -> succeeds(caller));
        }
    }

    @Test
    void keepsNothingForALivePeerThatItHasNeverTalkedWith() throws IOException {
        join("server", RetentionSettings.DEFAULTS);
        Worker caller = join("caller", BY_BYTES);
        WorkerDirectory silent = workers.home.join("silent");
        WorkerDirectory unreadable = workers.home.join("unreadable");
        Files.writeString(unreadable.path().resolve("worker.json"), "{");
        for (int i = 0; i < 2000; i++) {
            Waits.until("there is room", () -> succeeds(caller));
        }
        Waits.until("nothing holds it back", () -> heldBack(caller).isEmpty());
        assertThat(bytes(caller)).isLessThanOrEqualTo(QUOTA);
        silent.leave();
        unreadable.leave();
    }

    @Test
    void waitsForAWorkerThatCannotBeReadUntilItIsForgotten() throws IOException {
        join("server", RetentionSettings.DEFAULTS);
        Worker caller = join("caller", BY_BYTES);
        WorkerDirectory unreadable = workers.home.join("unreadable");
        caller.directory().cursors().slot(unreadable.id());
        Files.writeString(unreadable.path().resolve("worker.json"), "{");
        Files.setLastModifiedTime( // as each write does; else it is seen within 30 s
                workers.home.presentPath().resolve(unreadable.path().getFileName()),
                FileTime.fromMillis(System.currentTimeMillis()));
        assertThatThrownBy(() -> callMany(caller, "server", 2000))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.JOURNAL_FULL));
        try (Membership membership = new Membership(workers.home)) {
            membership.refresh();
            workers.home.forget(membership.members().find("unreadable").orElseThrow());
        }
        for (int i = 0; i < 500; i++) {
            Waits.until("there is room again", () -> succeeds(caller));
        }
        unreadable.leave();
    }

    @Test
    void countsItsIndexAndItsArchive() throws IOException {
        join("server", RetentionSettings.DEFAULTS);
        Worker caller = join("caller", BY_BYTES);
        Path index = Files.createDirectories(caller.directory().path().resolve("index"));
        for (String file : List.of("one", "other")) {
            Files.write(index.resolve(file), new byte[INDEXED]);
        }
        for (int i = 0; i < 500; i++) {
            Waits.until("there is room", () -> succeeds(caller));
        }
        Waits.until(
                () -> "expected at most " + (QUOTA - 2 * INDEXED) + " bytes of queues beside an index of " + 2 * INDEXED
                        + " and a quota of " + QUOTA + ", found " + bytes(caller),
                () -> bytes(caller) <= QUOTA - 2 * INDEXED);

        QueueFile newest = newest(caller);
        String name = newest.path().getFileName().toString();
        Path archive = Files.createDirectories(
                caller.directory().path().resolve("archive").resolve("requests"));
        Files.write(archive.resolve(name.substring(0, name.indexOf('.')) + ".wba"), new byte[INDEXED]);
        assertThat(newest(caller).bytes())
                .as("bytes of a file of %d with an archive of %d", newest.bytes(), INDEXED)
                .isGreaterThanOrEqualTo(newest.bytes() + INDEXED);
    }

    private QueueFile newest(Worker worker) {
        List<QueueFile> there = files(worker, JournalQueue.REQUESTS);
        return there.get(there.size() - 1);
    }

    private static boolean succeeds(Worker caller) {
        try {
            callMany(caller, "server", 1);
            return true;
        } catch (CallException e) {
            assertThat(e.code()).isEqualTo(ErrorCode.JOURNAL_FULL);
            return false;
        }
    }

    @Test
    void keepsRequestsWithoutAnOutcome() throws Exception {
        join("server", BY_COUNT);
        Worker caller = join("caller", BY_COUNT);
        callMany(caller, "server", 100);
        CompletableFuture<Response> waiting =
                caller.callAsync(request("server", 0x43).timeout(Duration.ZERO));
        callMany(caller, "server", 200);
        Waits.until(
                "the files before it are gone",
                () -> files(caller, JournalQueue.REQUESTS).size() < 16);
        int held = files(caller, JournalQueue.REQUESTS).size();
        assertThat(held).isGreaterThan(10);

        kept.get().body();
        kept.get().send();

        waiting.get().close();
        Waits.until(
                "the others are gone, too",
                () -> files(caller, JournalQueue.REQUESTS).size() == 3);
    }

    private static String heldBack(Worker worker) {
        return worker.directory().record().settings().getOrDefault(WorkerRecord.RETENTION, "");
    }

    /** Whether the files were looked at with more of them than there may be: some were removed, or it says why not. */
    private boolean wasLookedAt(Worker caller) {
        return !heldBack(caller).isEmpty()
                || files(caller, JournalQueue.REQUESTS).size() <= 3;
    }

    private void assertHeldBackBy(String whom, Worker caller) {
        Waits.until("the files were looked at", () -> wasLookedAt(caller));
        // a first look may find the worker itself behind, which reads its own requests, too
        Waits.until(
                () -> "expected requests held back by " + whom + ", found " + heldBack(caller),
                () -> heldBack(caller).equals("requests held back by " + whom));
        assertThat(files(caller, JournalQueue.REQUESTS))
                .as("files of which the oldest is still needed by %s", whom)
                .hasSizeGreaterThan(10);
    }

    private void assertAllGo(Worker caller) {
        Waits.until(
                "nothing is held back any more",
                () -> files(caller, JournalQueue.REQUESTS).size() == 3);
    }

    /** The caller does not wait for it any more. */
    @Test
    void keepsWhatAPeerHasReadAndNotFinished() throws IOException {
        handlers.expectMore();
        join("server", RetentionSettings.DEFAULTS);
        Worker caller = join("caller", BY_COUNT);
        callMany(caller, "server", 1);
        CompletableFuture<Response> late =
                caller.callAsync(request("server", 0x44).timeout(Duration.ofSeconds(3)));
        Waits.until("the server has read it, and parked it", () -> handlers.parkedRequests() == 1);
        assertThatThrownBy(late::join)
                .cause()
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.TIMED_OUT));
        assertThat(caller.pendingCalls()).isZero();

        callMany(caller, "server", 250);

        assertHeldBackBy("server", caller);
        handlers.expectNoMore(); // what parked is refused
        assertAllGo(caller);
    }

    /** The peer left; its next incarnation is to respond to what it was asked. */
    @Test
    void keepsItsOwnCallsThatNoPeerNeedsNow() throws Exception {
        Worker callee = joinAtLeastOnce((message, outbox) -> kept.set(outbox.later()));
        join("server", RetentionSettings.DEFAULTS);
        Worker caller = join("caller", BY_COUNT);
        CompletableFuture<Response> waiting =
                caller.callAsync(request("callee", 0x44).timeout(Duration.ZERO));
        Waits.until("begun", () -> kept.get() != null);
        callee.close();

        callMany(caller, "server", 250);

        assertHeldBackBy("this worker's own calls without an outcome", caller);
        joinAtLeastOnce((message, outbox) -> outbox.respond(message.payload()));
        waiting.get().close();
        assertAllGo(caller);
    }

    private Worker joinAtLeastOnce(MessageHandler handler) throws IOException {
        HandlerRegistry registry = workers.registry();
        Provider provider = new Provider("test", "1.0.0");
        registry.add(HandlerSpec.of(
                        HandlerKey.parse("0x144"),
                        handler,
                        provider,
                        registry.newExecutor(provider, ExecutorSettings.forProcessors(2)))
                .withDelivery(DeliveryPolicy.AT_LEAST_ONCE));
        return workers.join("callee", registry);
    }
}
