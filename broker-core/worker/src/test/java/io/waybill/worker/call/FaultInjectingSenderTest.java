package io.waybill.worker.call;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.Value;
import io.waybill.api.tensor.Tensor;
import io.waybill.host.Host;
import io.waybill.host.ManualClock;
import io.waybill.host.Threads;
import io.waybill.injection.InjectionSettings;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.read.QueueReader;
import io.waybill.testing.core.Waits;
import io.waybill.worker.publish.PublishingRoom;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Requests in which faults are injected: what is on record of them, when, and which outcome their calls get. The test moves the clock. */
@Timeout(180)
class FaultInjectingSenderTest {

    private static final Duration HOUR = Duration.ofHours(1);
    private static final Duration SWAP = Duration.ofSeconds(1); // longer than a request waits for one to swap with
    private static final MessageType TYPE = CallingRoom.TYPE;
    private static final MessageType OTHER = MessageType.userRequest(0x43);
    private static final MessageType CONTROL = MessageType.RREF_USER_DELETE;

    @TempDir
    private Path directory;

    private final ManualClock clock = new ManualClock();
    private final ShortPauses threads = new ShortPauses();
    private final List<String> outcomes = new ArrayList<>();
    private CallingRoom room;

    /** Real threads that pause briefly, and so find that the clock was moved. They can be refused. */
    private static final class ShortPauses implements Threads {

        private static final long MAX_NS = 1_000_000;

        private final List<Thread> started = new CopyOnWriteArrayList<>();
        private volatile boolean refuses;

        @Override
        public Thread start(String name, Runnable body) {
            if (refuses) {
                throw new OutOfMemoryError("planted");
            }
            Thread thread = Host.real().threads().start(name, body);
            started.add(thread);
            return thread;
        }

        @Override
        public void pause(long ns) {
            LockSupport.parkNanos(Math.min(ns, MAX_NS));
        }
    }

    @BeforeEach
    void open() throws Exception {
        open(InjectionSettings.NONE);
    }

    private void open(InjectionSettings injection) throws Exception {
        close();
        room = new CallingRoom(directory, clock, threads, injection);
        assertThat(room.permit.tryAcquire()).isTrue();
    }

    @AfterEach
    void close() throws IOException {
        if (room != null) {
            room.parts.writer.close();
            room.parts.writer.discardKept();
            room.close();
        }
    }

    private long call(MessageType type, List<Tensor> tensors) {
        Request request =
                Request.raw("a", type, ByteBuffer.allocate(8), tensors).timeout(Duration.ZERO);
        return room.calls.call(request, new ResponseListener() {
            @Override
            public void onResponse(Response response) {
                outcomes.add(CallingRoom.text(response.id()) + " " + response.value());
            }

            @Override
            public void onFailure(CallException failure) {
                outcomes.add(CallingRoom.text(failure.messageId()) + " " + failure.code() + " " + failure.begun());
            }
        });
    }

    private long call(MessageType type) {
        return call(type, List.of());
    }

    private long id(long counter) {
        return MessageId.of(room.id, counter);
    }

    private String text(long counter) {
        return CallingRoom.text(id(counter));
    }

    /** Completes the calls with these ids, and returns the outcomes. */
    private List<String> respond(long... counters) throws Exception {
        for (long counter : counters) {
            room.respond(id(counter), Value.of(counter));
        }
        room.poll();
        return outcomes;
    }

    private String responded(long counter) {
        return text(counter) + " " + Value.of(counter);
    }

    /** Returns the requests on record: counters of their ids and types, and which of them have expired. */
    private List<String> sent() throws IOException {
        List<String> found = new ArrayList<>();
        Path queue = JournalQueue.REQUESTS.in(room.publishing.directory.path());
        try (QueueReader reader = QueueReader.open(queue, room.publishing.host.files(), PublishingRoom.JOURNAL)) {
            while (reader.next() == QueueReader.Step.RECORD) {
                long deadlineNs = reader.record().deadlineNs();
                String expired = deadlineNs != 0 && deadlineNs < clock.bootNs() ? " expired" : "";
                found.add(CallingRoom.text(reader.record().id()) + " "
                        + reader.record().type() + expired);
            }
        }
        return found;
    }

    private String record(long counter, MessageType type) {
        return text(counter) + " " + type;
    }

    /** Moves the clock again and again: the thread may have read it just before, and rests from there. */
    private void awaitSent(int count, Duration delay) throws IOException {
        Waits.until(count + " requests are on record", () -> {
            clock.advance(delay);
            return sent().size() >= count;
        });
    }

    @Test
    void aDelayedRequestIsOvertakenAndThenWrittenUnderTheNextId() throws Exception {
        open(InjectionSettings.NONE.withDelay(TYPE, HOUR));
        call(TYPE);
        call(OTHER);
        assertThat(sent()).as("requests on record before the delay has passed").containsExactly(record(2, OTHER));
        awaitSent(2, HOUR);
        assertThat(sent())
                .as("requests on record after the delay has passed")
                .containsExactly(record(2, OTHER), record(3, TYPE));
        assertThat(respond(3, 2)).as("outcomes").containsExactly(responded(3), responded(2));
    }

    @Test
    void aDroppedRequestHasExpiredAndItsIdIsThatOfNoCall() throws Exception {
        open(InjectionSettings.NONE.withDrop(TYPE));
        call(TYPE);
        call(TYPE);
        assertThat(sent())
                .as("requests on record, of which the first was dropped")
                .containsExactly(record(2, TYPE) + " expired", record(3, TYPE));
        assertThat(respond(2, 3)).as("outcomes").containsExactly(responded(3));
        assertThat(room.parts.pending.size()).as("calls in flight").isEqualTo(1);
    }

    @Test
    void aRequestThatFailsLeavesNothingBehindAndNoHandlerHasBegun() throws Exception {
        open(InjectionSettings.NONE.withFail(TYPE).withTimes(2));
        Tensor tensor = room.publishing.tensor();
        for (int i = 0; i < 2; i++) {
            call(TYPE, List.of(tensor));
        }
        assertThat(outcomes)
                .as("outcomes of the attempts that fail")
                .containsExactly(
                        text(1) + " " + ErrorCode.INTENTIONAL_FAILURE + " NO",
                        text(2) + " " + ErrorCode.INTENTIONAL_FAILURE + " NO");
        assertThat(sent()).as("requests on record").isEmpty();
        assertThat(room.publishing.leases()).as("leases").isZero();
        assertThat(room.link.flow().inFlight())
                .as("calls in flight to the peer")
                .isZero();
        assertThat(room.parts.pending.size()).as("calls in flight").isZero();
        call(TYPE, List.of(tensor));
        assertThat(sent()).as("requests on record after the last attempt").containsExactly(record(3, TYPE));
    }

    @Test
    void aCopyIsThatOfNoCall() throws Exception {
        open(InjectionSettings.NONE.withDuplicate(CONTROL));
        call(CONTROL);
        assertThat(sent()).as("requests on record").containsExactly(record(1, CONTROL), record(2, CONTROL));
        assertThat(room.link.flow().inFlight())
                .as("calls in flight to the peer")
                .isEqualTo(1);
        assertThat(respond(2, 1)).as("outcomes").containsExactly(responded(1));
    }

    @Test
    void twoRequestsSwapAndOneWithoutAnotherIsWrittenAlone() throws Exception {
        open(InjectionSettings.NONE.withReorder(CONTROL));
        call(CONTROL);
        assertThat(sent()).as("requests on record while it waits for another").isEmpty();
        call(CONTROL);
        assertThat(sent()).as("requests on record").containsExactly(record(2, CONTROL), record(3, CONTROL));
        call(CONTROL);
        awaitSent(3, SWAP);
        assertThat(sent())
                .as("requests on record, with one that waited without success")
                .hasSize(3)
                .endsWith(record(5, CONTROL));
        assertThat(respond(2, 3, 5)).as("outcomes").containsExactly(responded(2), responded(3), responded(5));
    }

    @Test
    void aRequestIsKeptWhileTheHostRefusesTheThread() throws Exception {
        open(InjectionSettings.NONE.withDelay(TYPE, HOUR));
        threads.refuses = true;
        call(TYPE);
        clock.advance(HOUR);
        assertThat(threads.started).as("threads").isEmpty();
        assertThat(sent()).as("requests on record without a thread").isEmpty();
        threads.refuses = false;
        room.waiting.threads().retry();
        awaitSent(1, HOUR);
        assertThat(sent()).as("requests on record").containsExactly(record(2, TYPE));
        assertThat(respond(2)).as("outcomes").containsExactly(responded(2));
    }

    @Test
    void theCloseDiscardsWhatIsKeptAndEndsTheThread() throws Exception {
        open(InjectionSettings.NONE.withDelay(TYPE, HOUR));
        call(TYPE);
        assertThat(threads.started).as("threads").hasSize(1);
        room.parts.writer.close();
        room.parts.writer.discardKept();
        clock.advance(HOUR);
        Thread thread = threads.started.get(0);
        Waits.until("the thread that sends them has ended", () -> !thread.isAlive());
        assertThat(sent()).as("requests on record").isEmpty();
    }
}
