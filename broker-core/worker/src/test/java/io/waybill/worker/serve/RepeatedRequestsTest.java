package io.waybill.worker.serve;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.handling.OutgoingResponse;
import io.waybill.host.Host;
import io.waybill.journal.JournalQueue;
import io.waybill.testing.core.Waits;
import io.waybill.wire.Envelope;
import io.waybill.wire.MessageBuffer;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.peer.UnservedRequests;
import io.waybill.worker.publish.PublishingRoom;
import io.waybill.worker.serve.RepeatedRequests.Found;
import io.waybill.worker.serve.RepeatedRequests.Verdict;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The search for the responses to requests that come again. */
@Timeout(60)
class RepeatedRequestsTest {

    private static final int NO_FLAGS = 0;

    private final AtomicInteger notified = new AtomicInteger();
    private volatile Runnable onFound = notified::incrementAndGet;
    private final MessageBuffer buffer = new MessageBuffer();
    private PublishingRoom room;
    private PeerLink link;
    private RepeatedRequests repeats;

    @BeforeEach
    void open(@TempDir Path directory) throws Exception {
        room = new PublishingRoom(directory);
        link = room.link();
        ResponseWriter responses = new ResponseWriter(room.context, room.responses, room.slots);
        repeats = new RepeatedRequests(room.directory, PublishingRoom.JOURNAL, responses, () -> onFound.run());
    }

    /** The search has ended, and with it the use of the files. */
    @AfterEach
    void close() throws IOException {
        awaitEnd();
        room.close();
    }

    private static void awaitEnd() {
        Waits.until(
                "the thread of the search ends",
                () -> Thread.getAllStackTraces().keySet().stream()
                        .noneMatch(thread -> thread.getName().equals("a-repeats")));
    }

    private long id(int number) {
        return MessageId.of(room.directory.id(), number);
    }

    /** Writes a response of a handler, or of the broker if the sequence is 0. */
    private void respond(int number, int to, long handlerSequence, int flags) throws Exception {
        MessageType type = OutgoingResponse.typeFor(ServingRoom.TYPE);
        buffer.begin(type, id(number), room.directory.id(), to, 0, 0)
                .flags(flags)
                .handlerSequence(handlerSequence);
        room.responses.lock();
        try {
            room.responses.append(buffer, Host.real().clock().wallNs());
        } finally {
            room.responses.unlock();
        }
    }

    private void respond(int number, long handlerSequence, int flags) throws Exception {
        respond(number, room.directory.id(), handlerSequence, flags);
    }

    private void add(int number) {
        repeats.add(link, number, id(number));
    }

    private Found take() {
        Waits.until("a request is found", repeats::isAnyFound);
        return repeats.takeFound();
    }

    private void isFound(int number, Verdict verdict) {
        assertThat(take())
                .as("decision about a repeated request")
                .isEqualTo(new Found(link, number, id(number), verdict));
    }

    private List<String> onRecord() throws IOException {
        return room.onRecord(JournalQueue.RESPONSES);
    }

    @Test
    void nothingIsFoundBeforeARequestComesAgain() {
        assertThat(repeats.isAnyFound()).isFalse();
        assertThat(repeats.takeFound()).as("a decision without a request").isNull();
        assertThat(repeats.isFull()).isFalse();
    }

    @Test
    void theResponseOfAHandlerIsSentAgain() throws Exception {
        respond(1, 5, NO_FLAGS);
        add(1);
        isFound(1, Verdict.RESPONDED);
        assertThat(onRecord()).as("responses on record").containsExactly(MessageId.text(id(1)), MessageId.text(id(1)));
    }

    @Test
    void aRequestWithoutAResponseIsRunAsARedelivery() throws Exception {
        respond(1, 5, NO_FLAGS);
        add(2);
        isFound(2, Verdict.RUN_AGAIN);
        assertThat(onRecord()).as("responses on record").containsExactly(MessageId.text(id(1)));
    }

    /** Such as one that was refused because it waited for too long. */
    @Test
    void aRequestThatNoHandlerHadBegunIsRun() throws Exception {
        respond(1, 0, NO_FLAGS);
        add(1);
        isFound(1, Verdict.RUN);
        assertThat(onRecord()).as("responses on record").hasSize(1);
    }

    @Test
    void aRequestThatAnEarlierIncarnationMayHaveBegunIsRunAsARedelivery() throws Exception {
        respond(1, 0, Envelope.ACROSS_INCARNATIONS);
        add(1);
        isFound(1, Verdict.RUN_AGAIN);
    }

    @Test
    void theResponseToAnotherWorkerIsNotSentAgain() throws Exception {
        respond(1, room.directory.id() + 1, 5, NO_FLAGS);
        add(1);
        isFound(1, Verdict.RUN_AGAIN);
        assertThat(onRecord()).as("responses on record").hasSize(1);
    }

    @Test
    void theNewestResponseDecides() throws Exception {
        respond(1, 0, NO_FLAGS);
        respond(1, 5, NO_FLAGS);
        add(1);
        isFound(1, Verdict.RESPONDED);
    }

    @Test
    void requestsAreFoundInTheOrderInWhichTheyCame() throws Exception {
        respond(2, 5, NO_FLAGS);
        List<Long> expected = new ArrayList<>();
        for (int number = 1; number <= 20; number++) {
            add(number);
            expected.add((long) number);
        }
        List<Long> found = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            found.add(take().index());
        }
        assertThat(found).as("positions of the requests that were found").containsExactlyElementsOf(expected);
        assertThat(repeats.isAnyFound()).as("whether there are more").isFalse();
    }

    @Test
    void aRequestIsSearchedForUntilItIsTaken() {
        add(1);
        assertThat(repeats.has(id(1))).as("after it came").isTrue();
        assertThat(repeats.has(id(2))).as("another one").isFalse();
        Waits.until("it is found", repeats::isAnyFound);
        assertThat(repeats.has(id(1))).as("before it is taken").isTrue();
        repeats.takeFound();
        assertThat(repeats.has(id(1))).as("after it is taken").isFalse();
        assertThat(repeats.isAnyFound()).isFalse();
    }

    @Test
    void aRequestIsUnservedUntilItsTakerRemovesIt() {
        add(7);
        take();
        assertThat(link.backlog().unserved().oldest()).as("after it was taken").isEqualTo(7);
        link.backlog().unserved().remove(7);
        assertThat(link.backlog().unserved().oldest()).isEqualTo(UnservedRequests.NONE);
    }

    @Test
    void theThreadThatPollsIsNotifiedOfEachRequestThatIsFound() {
        add(1);
        add(2);
        take();
        take();
        Waits.until("there are two notifications", () -> notified.get() >= 2);
    }

    /** The thread ends when nothing is left to search for, and another one begins with the next request. */
    @Test
    void aRequestIsFoundAfterTheSearchHadEnded() {
        for (int number = 1; number <= 5; number++) {
            add(number);
            isFound(number, Verdict.RUN_AGAIN);
            if (number % 2 == 0) {
                awaitEnd();
            }
        }
    }

    @Test
    void aSearchIsFullAtItsLimit() {
        for (int number = 1; number < RepeatedRequests.MAX; number++) {
            add(number);
        }
        assertThat(repeats.isFull()).as("with one less than the limit").isFalse();
        add(RepeatedRequests.MAX);
        assertThat(repeats.isFull()).as("at the limit").isTrue();
        take();
        assertThat(repeats.isFull()).as("after one was taken").isFalse();
        for (int left = RepeatedRequests.MAX - 1; left > 0; left--) {
            take();
        }
        assertThat(repeats.isAnyFound()).isFalse();
    }

    @ParameterizedTest(name = "with an error: {0}")
    @ValueSource(booleans = {false, true})
    void noRequestIsLostWhenTheSearchFails(boolean isError) {
        CountDownLatch allCame = new CountDownLatch(1);
        onFound = () -> {
            onFound = () -> {};
            Waits.until("all requests came", () -> allCame.getCount() == 0);
            PublishingRoom.throwUnchecked(
                    isError ? new StackOverflowError("planted") : new IllegalStateException("planted"));
        };
        for (int number = 1; number <= 3; number++) {
            add(number);
        }
        allCame.countDown();
        for (int number = 1; number <= 3; number++) {
            isFound(number, Verdict.RUN_AGAIN);
        }
        add(4);
        isFound(4, Verdict.RUN_AGAIN);
    }
}
