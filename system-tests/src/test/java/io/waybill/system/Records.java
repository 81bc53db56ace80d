package io.waybill.system;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.Poll;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/** A queue as it is read back by somebody who had nothing to do with it: every record checked, none missing, none twice. */
final class Records {

    /** When each message was written, on the wall clock. */
    final Map<Long, Long> sentNs = new HashMap<>();

    /** The life of the receiver that each message is for; 0 for responses. */
    final Map<Long, Long> epochs = new HashMap<>();

    int damaged;

    private Records() {}

    /** Reads a whole queue. Sequences must have no gap; ids may come twice only in responses. */
    static Records read(Path queue) {
        Records records = new Records();
        MessageBuffer buffer = new MessageBuffer();
        RecordView view = new RecordView(buffer);
        long sequence = 0;
        try (JournalTail tail = JournalTail.open(queue, WorkerMain.JOURNAL)) {
            Poll found = tail.poll(buffer, JournalTail.ANY_RECEIVER);
            while (found != Poll.NONE) {
                assertThat(found).as(() -> tail.damage()).isEqualTo(Poll.RECORD);
                assertThat(view.sequence()).as("sequence in " + queue).isEqualTo(sequence);
                sequence++;
                records.epochs.put(view.id(), view.epoch());
                Long before = records.sentNs.put(view.id(), view.sentNs());
                assertThat(before == null)
                        .as("id " + Long.toHexString(view.id()) + " is there once in " + queue)
                        .isTrue();
                found = tail.poll(buffer, JournalTail.ANY_RECEIVER);
            }
        }
        return records;
    }
}
