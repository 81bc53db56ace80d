package io.waybill.worker.upkeep;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.host.WatchedSyncs;
import io.waybill.journal.Durability;
import io.waybill.journal.Roll;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The next incarnation of a worker whose disk failed in the middle of its queues: it serves, and is served. */
@Timeout(300)
class FailedSyncTest {

    private static final int FILE_BYTES = 1 << 20;
    private static final int PAYLOAD_BYTES = 40_000;

    @TempDir
    private Path directory;

    private final Set<String> files = ConcurrentHashMap.newKeySet(); // that the failing call was made for
    private final AtomicInteger handled = new AtomicInteger(); // requests of the next incarnation, or to it
    private final AtomicInteger failed = new AtomicInteger();
    private volatile Fault failing = Fault.NONE;
    private volatile String queue = "none";
    private volatile int failingFile;

    private Workers workers;

    /** What fails: the sync of a file, its opening by the thread that syncs, or the reservation of its space. */
    enum Fault {
        NONE,
        SYNC,
        OPEN,
        RESERVE
    }

    @BeforeEach
    void open() throws IOException {
        workers = new Workers(directory, WatchedSyncs.host(new WatchedSyncs.Watcher() {
            @Override
            public void beforeSync(Path file) throws IOException {
                before(Fault.SYNC, file);
            }

            @Override
            public void beforeReserve(Path file) throws IOException {
                before(Fault.RESERVE, file);
            }

            @Override
            public void beforeOpen(Path file) throws IOException {
                if (Thread.currentThread().getName().endsWith("-syncer")) {
                    before(Fault.OPEN, file);
                }
            }
        }));
    }

    private void before(Fault fault, Path file) throws IOException {
        String path = file.toString();
        if (fault == failing && path.contains(queue) && path.endsWith(Roll.FILE_SUFFIX)) {
            files.add(path);
            if (files.size() >= failingFile) {
                failed.incrementAndGet();
                throw new IOException("a disk that fails");
            }
        }
    }

    @AfterEach
    void close() throws IOException {
        failing = Fault.NONE;
        workers.close();
    }

    private Worker join(String name, Durability durability) throws IOException {
        HandlerRegistry registry = workers.registry();
        workers.handleOnPoller(registry, "0x142", (message, outbox) -> {
            ByteBuffer payload = message.payload();
            handled.addAndGet(payload.get(payload.position()));
            outbox.respond(payload);
        });
        WorkerSettings settings = Workers.SETTINGS.toBuilder()
                .defaultTimeout(Duration.ofSeconds(10))
                .journal(Workers.SETTINGS
                        .journal()
                        .withFileBytes(FILE_BYTES)
                        .withDurability(durability)
                        .withSyncInterval(Duration.ofMillis(1)))
                .build();
        return workers.join(name, registry, settings);
    }

    /** @param counted 1 when it is counted as handled; 0 otherwise */
    private static Request request(String to, int counted) {
        byte[] payload = new byte[PAYLOAD_BYTES];
        payload[0] = (byte) counted;
        return Request.raw(to, MessageType.userRequest(0x42), ByteBuffer.wrap(payload), List.of());
    }

    @ParameterizedTest(name = "{1} of file {3} of {2} fails with durability {0}")
    @CsvSource({
        "EACH, SYNC, requests, 1",
        "EACH, SYNC, requests, 2",
        "EACH, SYNC, requests, 3",
        "EACH, SYNC, responses, 1",
        "EACH, SYNC, responses, 2",
        "EACH, SYNC, responses, 3",
        "EACH, OPEN, requests, 1",
        "EACH, OPEN, requests, 2",
        "EACH, OPEN, responses, 1",
        "EACH, RESERVE, requests, 2",
        "EACH, RESERVE, responses, 2",
        "INTERVAL, SYNC, requests, 1",
        "INTERVAL, SYNC, requests, 2",
        "INTERVAL, SYNC, responses, 2",
        "INTERVAL, OPEN, responses, 1",
        "PROCESS, RESERVE, requests, 2"
    })
    void servesAndIsServedInItsNextIncarnation(Durability durability, Fault fault, String failingQueue, int file)
            throws Exception {
        Worker peer = join("peer", Durability.PROCESS);
        Worker first = join("worker", durability);
        first.call(request("peer", 0)).close();
        peer.call(request("worker", 0)).close();
        failingFile = file;
        queue = "-worker/" + failingQueue;
        failing = fault;
        callUntilItFails(first, peer, failingQueue);
        assertThat(failed).hasPositiveValue();
        first.close();
        failing = Fault.NONE;

        Worker second = join("worker", durability);
        for (int i = 1; i <= 5; i++) {
            call(second, "peer", "request " + i + " of the next incarnation");
            call(peer, "worker", "request " + i + " to the next incarnation");
        }
        assertThat(handled).hasValue(10);
        second.close();
        call(join("worker", durability), "peer", "a request of the third incarnation");
    }

    /** Until the worker stops, or refuses. */
    private void callUntilItFails(Worker worker, Worker peer, String failingQueue) throws Exception {
        Waits.until("it stops or refuses, after " + failed + " failures", () -> {
            try {
                (failingQueue.equals("requests") ? worker.call(request("peer", 0)) : peer.call(request("worker", 0)))
                        .close();
                return worker.failure().isDone();
            } catch (CallException e) {
                return worker.failure().isDone() || e.code() == ErrorCode.JOURNAL_FULL;
            }
        });
    }

    private static void call(Worker from, String to, String what) {
        try (Response response = from.call(request(to, 1))) {
            assertThat(response.payload().remaining()).as(what).isEqualTo(PAYLOAD_BYTES);
        } catch (CallException e) {
            throw new AssertionError(what + " has no response: " + e.getMessage(), e);
        }
    }
}
