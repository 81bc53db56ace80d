package io.waybill.worker.recover;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.home.cursor.CursorSlot;
import io.waybill.host.Host;
import io.waybill.host.ManualClock;
import io.waybill.host.Threads;
import io.waybill.journal.JournalQueue;
import io.waybill.testing.core.Waits;
import io.waybill.wire.MessageBuffer;
import io.waybill.worker.FaultyThreads;
import io.waybill.worker.peer.LinkLookup;
import io.waybill.worker.peer.Links;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.poll.FaultAlarm;
import io.waybill.worker.publish.PublishingRoom;
import io.waybill.worker.publish.QueueAppender;
import io.waybill.worker.serve.PreviousIncarnation;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The search for requests that an earlier incarnation left, in the queues of a worker that runs nothing. */
@Timeout(120)
class RecoverySearchTest {

    private static final long EPOCH_OF_SEARCH = 7; // none of the records has it

    @TempDir
    private Path directory;

    private final ManualClock clock = new ManualClock();
    private final SearchThreads threads = new SearchThreads();
    private final AtomicInteger done = new AtomicInteger();
    private final List<Links> more = new ArrayList<>();
    private final MessageBuffer buffer = new MessageBuffer();
    private PublishingRoom room;
    private PeerLink link;
    private Recovery recovery;
    private int requests;

    /** Real threads that begin when the test says so, and whose pauses move the clock. */
    private final class SearchThreads implements Threads {

        private final Threads real = Host.real().threads();
        private final CountDownLatch released = new CountDownLatch(1);
        private final AtomicInteger started = new AtomicInteger();
        private final AtomicInteger pauses = new AtomicInteger();
        private volatile Runnable onPause = () -> {};

        @Override
        public Thread start(String name, Runnable body) {
            started.incrementAndGet();
            return real.start(name, () -> {
                try {
                    released.await();
                    body.run();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            });
        }

        @Override
        public void pause(long ns) {
            pauses.incrementAndGet();
            onPause.run();
            clock.advance(Duration.ofNanos(ns));
        }
    }

    @BeforeEach
    void open() throws Exception {
        room = new PublishingRoom(directory);
        link = room.link();
        recovery = recovery(room.host.withClock(clock).withThreads(threads));
    }

    @AfterEach
    void close() throws IOException {
        threads.released.countDown();
        more.forEach(Links::close);
        room.close();
    }

    private Recovery recovery(Host host) {
        UnansweredScan scan = new UnansweredScan(
                room.directory.id(),
                EPOCH_OF_SEARCH,
                PublishingRoom.JOURNAL,
                JournalQueue.RESPONSES.in(room.directory.path()),
                Long.MAX_VALUE);
        Recovery created =
                new Recovery("a", PreviousIncarnation.of(room.directory), scan, host, new FaultAlarm(host.threads()));
        created.onDone(done::incrementAndGet);
        return created;
    }

    /** Writes a request of the worker to itself. Returns its position. */
    private long request() {
        return write(room.requests, MessageType.userRequest(0x42), ++requests);
    }

    private void respond(int request) {
        write(room.responses, MessageType.NAMED_RET, request);
    }

    private long write(QueueAppender queue, MessageType type, int number) {
        int id = room.directory.id();
        queue.lock();
        try {
            queue.append(
                    buffer.begin(type, MessageId.of(id, number), id, id, 0, 0).flags(0),
                    room.host.clock().wallNs());
            return queue.journal().lastIndex();
        } catch (Exception e) {
            throw new AssertionError(e);
        } finally {
            queue.unlock();
        }
    }

    /** Sets how far an earlier incarnation has completed, and has read, the requests. */
    private void hasRead(long completedBefore, long readBefore) {
        CursorSlot slot = link.reader().position();
        slot.requestsIndex(readBefore);
        slot.requestsCompletedBefore(completedBefore);
    }

    private void awaitEnd() {
        Waits.until("the search ends", () -> done.get() > 0);
    }

    /** Makes another link to the same worker, as for its next incarnation. */
    private PeerLink another() {
        Links links = new Links(room.directory, true, PublishingRoom.JOURNAL, room.permit, room.transit);
        more.add(links);
        return new LinkLookup(links, room.host, () -> false).require(room.directory.name(), 0, false);
    }

    private static List<Long> taken(PeerLink from) {
        List<Long> positions = new ArrayList<>();
        long next = from.backlog().nextUnanswered();
        while (next != -1) {
            positions.add(next);
            from.backlog().unansweredTaken();
            next = from.backlog().nextUnanswered();
        }
        return positions;
    }

    @Test
    void servesNoRequestBeforeThoseWithoutAResponseAreFound() {
        long first = request();
        long second = request();
        long third = request();
        respond(2);
        hasRead(first, third + 1);
        recovery.made(link);
        assertThat(link.backlog().isRecovered())
                .as("recovered before the search")
                .isFalse();
        threads.released.countDown();
        awaitEnd();
        assertThat(link.backlog().isRecovered())
                .as("recovered when the listener is notified")
                .isTrue();
        assertThat(taken(link)).as("requests without a response").containsExactly(first, third);
        assertThat(second).as("the request with a response").isBetween(first, third);
    }

    @Test
    void searchesOnceForAPeerAndNotWhereAllWasCompleted() {
        long first = request();
        hasRead(first + 1, first + 1);
        recovery.made(link);
        assertThat(link.backlog().isRecovered()).as("all was completed").isTrue();
        assertThat(threads.started).as("threads, as all was completed").hasValue(0);
        PeerLink later = another();
        hasRead(first, first + 1);
        recovery.made(later);
        assertThat(later.backlog().isRecovered()).as("the peer appears again").isTrue();
        assertThat(threads.started).as("threads, as the peer appears again").hasValue(0);
    }

    @Test
    void givesTheRequestsToTheLinkOfThePeersLatestIncarnation() {
        long first = request();
        PeerLink later = another();
        hasRead(first, first + 1);
        recovery.made(link);
        recovery.made(later);
        assertThat(later.backlog().isRecovered())
                .as("recovered before the search")
                .isFalse();
        threads.released.countDown();
        awaitEnd();
        assertThat(List.of(link.backlog().isRecovered(), later.backlog().isRecovered()))
                .as("recovered")
                .containsExactly(true, true);
        assertThat(taken(link)).as("of the link that has ended").isEmpty();
        assertThat(taken(later)).as("of the latest link").containsExactly(first);
        assertThat(threads.started).as("threads").hasValue(1);
    }

    @Test
    void searchesAgainUntilThePeersQueueIsWhole() {
        long first = request();
        hasRead(first, first + 2);
        threads.onPause = () -> {
            if (threads.pauses.get() == 3) {
                request();
            }
        };
        recovery.made(link);
        threads.released.countDown();
        awaitEnd();
        assertThat(taken(link)).as("requests without a response").containsExactly(first, first + 1);
        assertThat(threads.pauses).as("pauses between searches").hasValue(3);
    }

    /** The peer's later requests must be served. */
    @Test
    void endsWithWhatIsThereWhenRequestsAreLost() {
        long first = request();
        hasRead(first, first + 5);
        recovery.made(link);
        threads.released.countDown();
        awaitEnd();
        assertThat(link.backlog().isRecovered()).as("recovered").isTrue();
        assertThat(taken(link)).as("requests without a response").containsExactly(first);
    }

    @Test
    void searchesLateWhenTheHostRefusesAThread() {
        FaultyThreads refusing = new FaultyThreads(FaultyThreads.Fault.REFUSED_ONCE, Pattern.compile(".*-recovery"));
        Host host = room.host.withThreads(refusing);
        Recovery late = recovery(host);
        long first = request();
        hasRead(first, first + 1);
        late.made(link);
        assertThat(refusing.hasRefused()).as("a thread was refused").isTrue();
        assertThat(link.backlog().isRecovered())
                .as("recovered without a thread")
                .isFalse();
        host.threads().retry();
        awaitEnd();
        assertThat(taken(link)).as("requests without a response").containsExactly(first);
    }
}
