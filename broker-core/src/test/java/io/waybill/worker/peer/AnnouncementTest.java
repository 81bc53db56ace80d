package io.waybill.worker.peer;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.home.cursor.CursorSlot;
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
        Workers.announceBy(first, link -> {
            if (!mute.get()) {
                link.ringIfAsleep();
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
        from.call(Request.raw(to, MessageType.userRequest(0x42), ByteBuffer.allocate(16), List.of()))
                .close();
    }

    private CursorSlot slot(Worker peer) {
        return hub.directory().cursors().taken().stream()
                .filter(taken -> taken.peerId() == peer.info().id())
                .findFirst()
                .orElseThrow();
    }

    @Test
    void readsWhatWasNotAnnounced() {
        mute.set(true); // as if the thread that has appended did not get further
        call(first, "hub");
        mute.set(false);
        call(first, "hub");
        assertThat(slot(first).requestsConsumed()).isEqualTo(3);
    }

    @Test
    void passesRecordsForOthersWithoutBeingCalled() {
        for (int i = 0; i < 1000; i++) {
            call(first, "talker-1");
        }
        long end = Workers.lastRequest(first);
        Waits.until(
                "the position for the retention of the peer", () -> slot(first).requestsIndex() > end);
    }

    @Test
    void sleepsWhileOthersCallEachOther() throws Exception {
        requireSleep(hub, first, "talker-1");
    }

    @Test
    void sleepsWhileItsOnlyPeersCallEachOther() throws Exception {
        Worker beside = join("beside");
        Worker left = join("left");
        call(left, "beside");
        call(join("right"), "beside");
        requireSleep(beside, left, "right");
    }

    /** Looks many times while a worker calls another one, and requires that {@code beside} sleeps at most of them. */
    private static void requireSleep(Worker beside, Worker caller, String called) throws Exception {
        Waits.until("the one beside them sleeps", () -> Workers.sleeps(beside));
        AtomicBoolean ended = new AtomicBoolean();
        Thread calls = new Thread(() -> {
            while (!ended.get()) {
                call(caller, called);
            }
        });
        calls.start();
        int asleep = 0;
        int looks = 2000;
        try {
            for (int i = 0; i < looks; i++) {
                long before = caller.counters().callsSent();
                Waits.until("they go on", () -> caller.counters().callsSent() > before);
                asleep += Workers.sleeps(beside) ? 1 : 0;
            }
        } finally {
            ended.set(true);
            calls.join();
        }
        assertThat(asleep).as("looks at which it slept").isGreaterThan(looks / 2);
    }
}
