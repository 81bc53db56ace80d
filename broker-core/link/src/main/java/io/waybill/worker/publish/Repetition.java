package io.waybill.worker.publish;

import io.waybill.wire.Envelope;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import io.waybill.worker.peer.PeerLink;
import java.util.function.Consumer;
import java.util.function.IntConsumer;

/**
 * A recorded message that is sent again under its id, with the flag of a repetition.
 *
 * @param changes applies the differences from the recorded message
 * @param counts receives the length of the record, to count the message
 */
public record Repetition(RecordView recorded, PeerLink to, Consumer<MessageBuffer> changes, IntConsumer counts)
        implements Publication {

    @Override
    public long id() {
        return recorded.id();
    }

    @Override
    public void compose(MessageBuffer record) {
        int length = recorded.buffer().length();
        record.reserve(length);
        record.memory().putBytes(0, recorded.buffer().memory(), 0, length);
        record.addFlag(Envelope.REPEATED);
        changes.accept(record);
    }

    @Override
    public void count(int recordBytes) {
        counts.accept(recordBytes);
    }
}
