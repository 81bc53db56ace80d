package io.waybill.worker.call;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.MessageId;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.read.QueueReader;
import io.waybill.worker.publish.PublishingRoom;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Calls on behalf of a request: whose they are, when they end at the latest, and that there are none after its handler. */
@Timeout(60)
class NestedCallerTest {

    private static final Duration TIMEOUT = CallingRoom.TIMEOUT;
    private static final long PARENT = MessageId.of(3, 77);
    private static final ResponseListener IGNORING = new ResponseListener() {
        @Override
        public void onResponse(Response response) {}

        @Override
        public void onFailure(CallException failure) {}
    };

    @TempDir
    private Path directory;

    private CallingRoom room;
    private NestedCaller caller;

    @BeforeEach
    void open() throws Exception {
        room = new CallingRoom(directory);
        caller = new NestedCaller(room.calls);
    }

    @AfterEach
    void close() throws IOException {
        room.close();
    }

    /** A request as it is on record. */
    private record Sent(long id, long parent, long deadlineNs) {}

    private List<Sent> onRecord() throws IOException {
        List<Sent> found = new ArrayList<>();
        Path queue = JournalQueue.REQUESTS.in(room.publishing.directory.path());
        try (QueueReader reader = QueueReader.open(queue, room.publishing.host.files(), PublishingRoom.JOURNAL)) {
            while (reader.next() == QueueReader.Step.RECORD) {
                found.add(new Sent(
                        reader.record().id(),
                        reader.record().parent(),
                        reader.record().deadlineNs()));
            }
        }
        return found;
    }

    @Test
    void itsCallsHaveTheRequestAsTheirParentAndEndWithIt() throws Exception {
        long deadlineNs = room.publishing.host.clock().bootNs() + TIMEOUT.toNanos() / 2;
        caller.open(PARENT, deadlineNs);
        long id = caller.call(CallingRoom.request(), IGNORING);
        caller.callAsync(CallingRoom.request());
        List<Sent> sent = onRecord();
        assertThat(sent).as("requests on record").hasSize(2);
        assertThat(sent.get(0).id()).as("the id of the first call").isEqualTo(id);
        assertThat(sent).extracting(Sent::parent).as("the parents").containsOnly(PARENT);
        assertThat(sent).extracting(Sent::deadlineNs).as("the deadlines").containsOnly(deadlineNs);
    }

    @Test
    void aCallWithAnEarlierDeadlineKeepsIt() throws Exception {
        long latestNs = room.publishing.host.clock().bootNs() + TIMEOUT.toNanos() * 100;
        caller.open(PARENT, latestNs);
        caller.call(CallingRoom.request(), IGNORING);
        assertThat(onRecord().get(0).deadlineNs())
                .as("the deadline of a call with a timeout, before that of its parent")
                .isPositive()
                .isLessThan(latestNs);
    }

    @Test
    void theCallsOfTheNextRequestAreItsOwn() throws Exception {
        caller.open(PARENT, 0);
        caller.call(CallingRoom.request(), IGNORING);
        caller.close();
        caller.open(PARENT + 1, 0);
        caller.call(CallingRoom.request(), IGNORING);
        assertThat(onRecord()).extracting(Sent::parent).as("the parents").containsExactly(PARENT, PARENT + 1);
    }

    @Test
    void thereAreNoCallsAfterItsHandlerHasReturned() throws Exception {
        caller.open(PARENT, 0);
        assertThat(caller.id()).as("the id of the request").isEqualTo(PARENT);
        assertThat(caller.parent()).as("the parent of its calls").isEqualTo(PARENT);
        caller.close();
        assertThat(caller.id()).as("the id afterwards").isEqualTo(MessageId.NONE);
        assertThatThrownBy(() -> caller.call(CallingRoom.request()), "a call that waits")
                .isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> caller.call(CallingRoom.request(), IGNORING), "a call with a listener")
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("its handler has returned");
        assertThatThrownBy(() -> caller.callAsync(CallingRoom.request()), "a call with a future")
                .isInstanceOf(IllegalStateException.class);
        assertThat(onRecord()).as("requests on record").isEmpty();
    }

    @Test
    void thereAreNoCallsBeforeItsHandlerBegins() {
        assertThatThrownBy(caller::parent, "the parent of a call").isInstanceOf(IllegalStateException.class);
    }
}
