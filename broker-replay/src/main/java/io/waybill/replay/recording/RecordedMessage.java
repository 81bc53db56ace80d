package io.waybill.replay.recording;

import io.waybill.api.WorkerInfo;
import io.waybill.journal.JournalQueue;
import io.waybill.wire.Envelope;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * One message of a recording, whose record has passed its check. Immutable, except for the array.
 *
 * @param worker owner of the journal
 * @param fileName name of its queue file, by which the archive finds its tensors
 * @param record the whole record, envelope included
 */
public record RecordedMessage(WorkerInfo worker, JournalQueue queue, String fileName, byte[] record) {

    private static final VarHandle SHORT = MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    /** Copies a record that has passed its check. */
    public static RecordedMessage copy(WorkerInfo worker, JournalQueue queue, String fileName, RecordView record) {
        byte[] bytes = new byte[record.buffer().length()];
        record.buffer().memory().getBytes(0, bytes);
        return new RecordedMessage(worker, queue, fileName, bytes);
    }

    /** Returns the id of the message. */
    public long id() {
        return (long) LONG.get(record, Envelope.ID);
    }

    /** Returns the id of its receiver. */
    public int receiver() {
        return Short.toUnsignedInt((short) SHORT.get(record, Envelope.TO));
    }

    /** Returns the wall clock in ns since 1970. */
    public long sentNs() {
        return (long) LONG.get(record, Envelope.SENT);
    }

    /**
     * Returns the number of the handler's run that responded, from 1 in each incarnation; 0 for a request, and for a
     * response of the broker.
     */
    public long handlerSequence() {
        return (long) LONG.get(record, Envelope.HANDLER_SEQUENCE);
    }

    /** Returns the receiver's incarnation to which a request was sent; see {@link RecordView#epoch}. */
    public long epoch() {
        return Integer.toUnsignedLong((int) INT.get(record, Envelope.EPOCH));
    }

    /** Returns whether a later incarnation of the receiver may have run it. */
    public boolean isAcrossIncarnations() {
        return (record[Envelope.FLAGS] & Envelope.ACROSS_INCARNATIONS) != 0;
    }

    /** Shows the record in a buffer, which refers to it afterwards. */
    public RecordView in(MessageBuffer buffer) {
        buffer.reserve(record.length);
        buffer.memory().putBytes(0, record);
        return new RecordView(buffer);
    }
}
