package io.waybill.worker.peer;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.home.cursor.CursorSlot;
import io.waybill.home.cursor.PeerCursors;
import io.waybill.host.Host;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A worker with many links reads the queues in which something was announced for it, and the others now and then. */
@Timeout(300)
class AnnouncementTest {

    private static final int TALKERS = 5; // more than are read without a look at what they announced

    @TempDir
    private Path directory;

    private Workers workers;
    private Worker hub;
    private Worker first;
    private final AtomicBoolean mute = new AtomicBoolean();

    @BeforeEach
    void open() throws IOException {
        workers = new Workers(directory);
        hub = join("hub");
        first = join("talker-0");
        Workers.announceBy(first, (link, isResponse) -> {
            if (!mute.get()) {
                link.ringIfAsleep(isResponse);
            }
        });
        call(first, "hub");
        for (int i = 1; i < TALKERS; i++) {
            call(join("talker-" + i), "hub");
        }
    }

    @AfterEach
    void leave() throws IOException {
        workers.close();
    }

    private Worker join(String name) throws IOException {
        HandlerRegistry handlers = workers.registry();
        workers.handleOnPoller(handlers, "0x142", (message, outbox) -> outbox.respond(message.payload()));
        return workers.join(name, handlers);
    }

    private static void call(Worker from, String to) {
        from.call(request(to)).close();
    }

    private static Request request(String to) {
        return Request.raw(to, MessageType.userRequest(0x42), ByteBuffer.allocate(16), List.of());
    }

    /** What a worker has read of a peer. */
    private static CursorSlot slot(Worker worker, Worker peer) {
        return worker.directory().cursors().taken().stream()
                .filter(taken -> taken.peerId() == peer.info().id())
                .findFirst()
                .orElseThrow();
    }

    @Test
    void saysWhetherItHasWrittenRequests() throws IOException {
        call(first, "hub"); // the second one: the first was in the beginning
        long requests = announced(first, hub);
        assertThat(requests).as("announcements of two requests").isEqualTo(2);
        Waits.until("the announcement of the second response", () -> announced(hub, first) == 2L << Integer.SIZE);
    }

    private static long announced(Worker by, Worker to) throws IOException {
        return PeerCursors.open(
                        by.directory().path(), by.info().id(), Host.real().files())
                .slotFor(to.info().id())
                .orElseThrow()
                .announced();
    }

    @Test
    void readsWhatWasNotAnnounced() {
        mute.set(true); // as if the thread that has appended did not get further
        call(first, "hub");
        mute.set(false);
        call(first, "hub");
        assertThat(slot(hub, first).requestsConsumed()).isEqualTo(3);
    }

    @Test
    void passesRecordsForOthersWithoutBeingCalled() {
        for (int i = 0; i < 1000; i++) {
            call(first, "talker-1");
        }
        long end = Workers.lastRequest(first);
        Waits.until(
                "the position for the retention of the peer",
                () -> slot(hub, first).requestsIndex() > end);
    }

    @Test
    void findsNoWorkInRecordsForOthers() throws IOException {
        Worker beside = join("beside"); // with few links: it reads all queues at each poll
        Worker left = join("left");
        call(left, "beside");
        call(join("right"), "beside");
        long position;
        int work;
        do { // the poller of the one beside them may be first
            for (int i = 0; i < 100; i++) {
                call(left, "right");
            }
            position = slot(beside, left).requestsIndex();
            work = Workers.poll(beside);
        } while (slot(beside, left).requestsIndex() == position);
        assertThat(work).as("records for it").isZero();
    }
}
