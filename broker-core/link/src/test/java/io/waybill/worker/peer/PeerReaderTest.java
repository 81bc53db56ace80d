package io.waybill.worker.peer;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.home.cursor.CursorSlot;
import io.waybill.worker.publish.PublishingRoom;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Which queues of a peer a poll reads, by what the peer has announced. */
@Timeout(120)
class PeerReaderTest {

    @TempDir
    private Path directory;

    private PublishingRoom room;
    private PeerReader reader;
    private CursorSlot announcing;

    @BeforeEach
    void open() throws Exception {
        room = new PublishingRoom(directory.resolve("room"));
        reader = room.link().reader();
        announcing = room.directory.cursors().slot(room.directory.id());
        announcing.announce();
        reader.findAnnouncements();
        readToEnd();
    }

    @AfterEach
    void close() throws IOException {
        room.close();
    }

    private void readToEnd() {
        reader.lookAtAnnouncements();
        reader.requestsReadToEnd();
        reader.responsesReadToEnd();
    }

    private void assertReads(boolean requests, boolean responses) {
        reader.lookAtAnnouncements();
        assertThat(reader.mayHaveRequests()).as("whether the requests are read").isEqualTo(requests);
        assertThat(reader.mayHaveResponses())
                .as("whether the responses are read")
                .isEqualTo(responses);
    }

    @Test
    void readsNothingThatWasNotAnnounced() {
        assertReads(false, false);
    }

    /** A search in a queue without a record takes Chronicle longer than the rest of a call's reading. */
    @Test
    void doesNotSearchForRequestsAfterResponsesAlone() {
        announcing.announceResponse();
        assertReads(false, true);
        readToEnd();
        assertReads(false, false);
        reader.ignoreAnnouncements(); // as with few peers, whose queues are read where they are mapped
        announcing.announceResponse();
        assertThat(reader.mayHaveRequests()).isFalse();
    }

    /** A worker of an earlier version does not say which queue it means. */
    @Test
    void readsBothAfterAnAnnouncementOfEither() {
        announcing.announce();
        assertReads(true, true);
        readToEnd();
        assertReads(false, false);
        announcing.announceResponse();
        announcing.announce();
        assertReads(true, true);
    }

    @Test
    void readsBothInAnyCaseWhenItSearchesForAnnouncements() {
        reader.findAnnouncements();
        assertThat(reader.mayHaveRequests()).isTrue();
        assertThat(reader.mayHaveResponses()).isTrue();
    }
}
