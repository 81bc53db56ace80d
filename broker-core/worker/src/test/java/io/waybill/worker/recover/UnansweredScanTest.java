package io.waybill.worker.recover;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.journal.WrittenQueue;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.Poll;
import io.waybill.wire.MessageBuffer;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Ten requests of a peer, of which this worker responded to every second. */
@Timeout(60)
class UnansweredScanTest {

    private static final int ASKED = 10;
    private static final long TO_THE_END = 0;

    @TempDir
    private Path directory;

    private Path requests;
    private UnansweredScan scan;
    private long firstPlace;

    @BeforeEach
    void write() {
        requests = directory.resolve("requests");
        Path responses = directory.resolve("responses");
        WrittenQueue.open(requests, WrittenQueue.settings()).requests(0, ASKED).close();
        try (WrittenQueue own = WrittenQueue.open(responses, WrittenQueue.settings())) {
            for (int counter = 0; counter < ASKED; counter += 2) {
                own.append(
                        MessageType.NAMED_RET,
                        MessageId.of(WrittenQueue.WORKER, counter),
                        WrittenQueue.PEER,
                        WrittenQueue.WORKER);
            }
        }
        scan = new UnansweredScan(WrittenQueue.PEER, 7, WrittenQueue.settings(), responses, ASKED);
        try (JournalTail tail = JournalTail.open(requests, WrittenQueue.settings())) {
            assertThat(tail.poll(new MessageBuffer(), JournalTail.ANY_RECEIVER)).isEqualTo(Poll.RECORD);
            firstPlace = tail.lastIndex();
        }
    }

    @Test
    void findsWhatWasReadAndHasNoResponse() {
        UnansweredScan.Found found = scan.find(requests, 0, firstPlace + 6, 0);
        assertThat(found.unanswered()).containsExactly(firstPlace + 1, firstPlace + 3, firstPlace + 5);
        assertThat(found.isWhole()).isTrue();
    }

    @Test
    void findsAllWithoutAPlaceToStopAt() {
        UnansweredScan.Found found = scan.find(requests, firstPlace + 4, TO_THE_END, 0);
        assertThat(found.unanswered()).containsExactly(firstPlace + 5, firstPlace + 7, firstPlace + 9);
        assertThat(found.isWhole()).isTrue();
    }

    /** As in a queue whose owner has not made its table yet. */
    @Test
    void saysThatTheQueueEndsTooEarly() {
        UnansweredScan.Found found = scan.find(requests, 0, firstPlace + ASKED + 1, 0);
        assertThat(found.unanswered()).hasSize(ASKED / 2);
        assertThat(found.isWhole()).isFalse();
    }
}
