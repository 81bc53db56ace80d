package io.waybill.worker.serve;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.Value;
import io.waybill.dispatch.DeliveryPolicy;
import io.waybill.worker.peer.Quarantine;
import io.waybill.worker.peer.RecordReader;
import io.waybill.worker.peer.UnservedRequests;
import io.waybill.worker.poll.Polled;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The requests in the queue of a peer, here of the worker itself, from their records to their handler. */
@Timeout(60)
class RequestReceiverTest {

    private static final int MAX_PER_POLL = 64;

    private final List<String> begun = new ArrayList<>(); // ids, in order
    private ServingRoom room;
    private RequestReceiver receiver;

    @BeforeEach
    void open(@TempDir Path directory) throws Exception {
        room = new ServingRoom(directory);
        Quarantine quarantine = new Quarantine(room.publishing.links, room.clock, room.polling.faults());
        receiver = new RequestReceiver(
                room.dispatcher,
                room.pool,
                new RecordReader(room.publishing.directory.id(), quarantine, room.publishing.counters));
    }

    @AfterEach
    void close() throws IOException {
        room.close();
    }

    private int poll() {
        room.link.reader().findAnnouncements();
        return receiver.poll(room.link);
    }

    /** Writes requests. Returns their ids. */
    private List<String> write(int count) throws Exception {
        List<String> ids = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            ids.add(writeOne());
        }
        return ids;
    }

    private String writeOne() throws Exception {
        room.write(ServingRoom.TYPE);
        return room.lastId();
    }

    private void isAtRest() {
        assertThat(room.open.count()).as("requests in flight").isZero();
        assertThat(room.pool.held()).as("exchanges in use").isLessThanOrEqualTo(1);
    }

    @Test
    void nothingIsReadFromAnEmptyQueue() {
        assertThat(poll()).isZero();
        isAtRest();
    }

    @Test
    void requestsAreServedInTheOrderOfTheQueue() throws Exception {
        room.handleInto(begun);
        List<String> ids = write(3);
        assertThat(poll()).as("requests of the first poll").isEqualTo(3);
        assertThat(begun).as("requests that the handler ran").containsExactlyElementsOf(ids);
        assertThat(room.responded()).as("responses on record").containsExactlyElementsOf(ids);
        assertThat(poll()).as("requests of the second poll").isZero();
        String later = writeOne();
        assertThat(poll()).as("requests of the third poll").isEqualTo(1);
        assertThat(begun).as("the last request that the handler ran").endsWith(later);
        isAtRest();
    }

    @Test
    void aPollEndsAtItsLimitAndTheNextOneContinues() throws Exception {
        room.handleInto(begun);
        List<String> ids = write(MAX_PER_POLL + 1);
        assertThat(poll()).as("requests of the first poll").isEqualTo(MAX_PER_POLL);
        assertThat(poll()).as("requests of the second poll").isEqualTo(1);
        assertThat(begun).as("requests that the handler ran").containsExactlyElementsOf(ids);
    }

    @Test
    void requestsForOthersAreNoWorkAndArePassed() throws Exception {
        room.handleInto(begun);
        int own = room.publishing.directory.id();
        for (int i = 0; i < 3; i++) {
            room.begin(ServingRoom.TYPE, own, own + 1);
            room.write();
        }
        String id = writeOne();
        while (begun.isEmpty()) {
            assertThat(poll()).as("requests for this worker").isLessThanOrEqualTo(1);
        }
        assertThat(begun).as("requests that the handler ran").containsExactly(id);
        assertThat(room.responded()).as("responses on record").containsExactly(id);
        assertThat(room.link.reader().position().requestsConsumed())
                .as("requests that count as read")
                .isEqualTo(1);
    }

    @Test
    void aRecordThatIsNoRequestIsCountedAsDamagedAndTheNextOneIsServed() throws Exception {
        room.handleInto(begun);
        room.write(MessageType.NAMED_RET);
        int own = room.publishing.directory.id();
        room.begin(ServingRoom.TYPE, own + 1, own);
        room.write();
        String id = writeOne();
        assertThat(poll()).as("records of the poll").isEqualTo(3);
        assertThat(room.publishing.counters.damagedRecords())
                .as("records that were counted as damaged")
                .isEqualTo(2);
        assertThat(begun).as("requests that the handler ran").containsExactly(id);
        assertThat(room.responded()).as("responses on record").containsExactly(id);
        isAtRest();
    }

    @Test
    void aRequestIsInFlightAndCountsAsReadWhileItsHandlerRuns() throws Exception {
        List<Integer> inFlight = new ArrayList<>();
        List<Long> read = new ArrayList<>();
        room.handle((message, outbox) -> {
            inFlight.add(room.open.count());
            read.add(room.link.reader().position().requestsConsumed());
            outbox.respond(Value.NONE);
        });
        write(2);
        poll();
        assertThat(inFlight).as("requests in flight while the handler runs").containsExactly(1, 1);
        assertThat(read).as("requests that count as read then").containsExactly(1L, 2L);
    }

    @Test
    void nothingIsReadBeforeTheRecoveryHasEnded() throws Exception {
        room.handleInto(begun);
        String id = writeOne();
        room.link.backlog().recovering();
        assertThat(poll()).as("requests during the recovery").isZero();
        assertThat(begun).as("requests that the handler ran").isEmpty();
        room.link.backlog().recovered(new long[0]);
        assertThat(poll()).as("requests after the recovery").isEqualTo(1);
        assertThat(begun).as("requests that the handler ran").containsExactly(id);
    }

    @Test
    void requestsStayInTheQueueOfAWorkerThatLeaves() throws Exception {
        room.handleInto(begun);
        writeOne();
        room.dispatcher.leave();
        assertThat(poll()).isZero();
        assertThat(begun).as("requests that the handler ran").isEmpty();
        assertThat(room.link.reader().position().requestsConsumed())
                .as("requests that count as read")
                .isZero();
    }

    /** Their position was passed by the incarnation that did not respond. */
    @Test
    void unansweredRequestsComeFirstAndInTheOrderOfTheRecovery() throws Exception {
        room.handleInto(begun, DeliveryPolicy.AT_LEAST_ONCE);
        long first = room.write(ServingRoom.TYPE);
        String firstId = room.lastId();
        long second = room.write(ServingRoom.TYPE);
        String secondId = room.lastId();
        room.link.backlog().recovering();
        room.link.backlog().recovered(new long[] {second, first});
        assertThat(poll()).as("requests of the first poll").isEqualTo(2);
        assertThat(begun).as("requests that the handler ran").containsExactly(secondId, firstId);
        assertThat(room.link.reader().position().requestsConsumed())
                .as("requests that count as read")
                .isZero();
        assertThat(room.link.backlog().nextUnanswered()).as("the next one").isEqualTo(-1);
        assertThat(room.link.backlog().unserved().oldest())
                .as("the oldest that waits")
                .isEqualTo(UnservedRequests.NONE);
        isAtRest();
    }

    @Test
    void anUnansweredRequestIsNotRunByAHandlerThatMayHaveBegunIt() throws Exception {
        room.handleInto(begun);
        long index = room.write(ServingRoom.TYPE);
        room.link.backlog().recovered(new long[] {index});
        assertThat(poll()).as("requests of the poll").isEqualTo(1);
        assertThat(begun).as("requests that the handler ran").isEmpty();
        assertThat(room.responded()).as("responses on record").containsExactly(room.lastId() + " WORKER_LOST");
        isAtRest();
    }

    @Test
    void unansweredRequestsWaitWhileTheWorkerLeaves() throws Exception {
        room.handleInto(begun);
        long index = room.write(ServingRoom.TYPE);
        room.link.backlog().recovered(new long[] {index});
        room.dispatcher.leave();
        assertThat(receiver.serveUnanswered(room.link)).isZero();
        assertThat(room.link.backlog().nextUnanswered()).as("the next one").isEqualTo(index);
    }

    @Test
    void aPollEndsWhenAnotherThreadTakesThePermit() throws Exception {
        List<String> ids = write(3);
        room.handle((message, outbox) -> {
            begun.add(MessageId.text(message.id()));
            outbox.respond(Value.NONE);
            Thread other = new Thread(room.permit::tryAcquire);
            other.start();
            try {
                other.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        assertThat(poll()).as("what a poll returns without the permit").isEqualTo(Polled.PERMIT_LOST);
        assertThat(begun).as("requests that the handler ran").containsExactly(ids.get(0));
        room.permit.release(); // by the other thread, which has ended
        assertThat(room.permit.tryAcquire()).isTrue();
        assertThat(poll()).isEqualTo(Polled.PERMIT_LOST);
        assertThat(begun).as("requests that the handler ran").containsExactly(ids.get(0), ids.get(1));
    }

    @Test
    void theSameExchangeServesOneRequestAfterTheOther() throws Exception {
        room.handleInto(begun);
        write(10);
        poll();
        assertThat(room.open.slots()).as("exchanges that were made").isEqualTo(1);
    }

    @Test
    void anExchangeThatIsDroppedIsNotUsedAgain() throws Exception {
        room.handleInto(begun);
        assertThat(poll()).isZero();
        receiver.dropNext();
        receiver.dropNext();
        assertThat(room.open.slots()).as("exchanges after the drop").isZero();
        String id = writeOne();
        assertThat(poll()).isEqualTo(1);
        assertThat(begun).as("requests that the handler ran").containsExactly(id);
        isAtRest();
    }
}
