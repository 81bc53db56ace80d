package io.waybill.worker;

import io.waybill.api.Body;
import io.waybill.api.RRef;
import io.waybill.api.Tensor;
import io.waybill.api.Value;
import io.waybill.handling.Reply;
import io.waybill.tensor.Plan;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.Observations;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.function.Consumer;

/**
 * What a handler answers with, until it is sent.
 *
 * <p>Belongs to the thread that answers.
 */
final class ReplyBody implements Answers.Content {

    private final Reply reply;
    private Plan plan;
    private Sharing sharing;
    private long begunNs;
    private byte[] observed = Observations.NO_BYTES; // by the handler, as it stands in a record

    /** @param onFailure is told what a storage of the response threw when it was given back */
    ReplyBody(Consumer<? super Throwable> onFailure) {
        this.reply = new Reply(onFailure);
    }

    /** Forgets the answer, and gives back the counts that came with its tensors, and its references. */
    void reset() {
        if (!reply.isEmpty()) {
            reply.reset();
            travelsWith(null, null);
            if (observed.length > 0) {
                observed = Observations.NO_BYTES;
            }
        }
    }

    boolean isEmpty() {
        return reply.isEmpty();
    }

    Body fields() {
        reset();
        return reply.fields();
    }

    void value(Value value) {
        reset();
        reply.value(value);
    }

    void raw(ByteBuffer payload, List<Tensor> tensors) {
        reset();
        reply.raw(payload, tensors);
    }

    /**
     * A value that this worker owns.
     *
     * @throws io.waybill.api.CallException when a reference that it holds has failed
     */
    void stored(StoredValue value) {
        List<HeldReference> taken = HeldReference.all(value.references(), HeldReference::retain);
        value.tensors().forEach(tensor -> tensor.storage().retain());
        reset();
        reply.raw(value.payload(), value.tensors(), taken);
    }

    /** When its handler began, by the wall clock; 0 when nobody looked at it. */
    void begunAt(long wallNs) {
        begunNs = wallNs;
    }

    /** What its handler observed, as it stands in a record. */
    void observed(byte[] encoded) {
        observed = encoded;
    }

    /** Leaves out what was observed, and says so, when the payload has more bytes with it. */
    void fit(int mostBytes) {
        if (observed.length > 0 && payloadLength() > mostBytes) {
            observed = Observations.LEFT_OUT.encode();
        }
    }

    /** How it is sent. @param tensors null for none @param shared the references; null for none */
    void travelsWith(Plan tensors, Sharing shared) {
        plan = tensors;
        sharing = shared;
    }

    @Override
    public int payloadLength() {
        return observedLength() + (sharing == null ? 0 : sharing.length());
    }

    /** With what was observed. */
    private int observedLength() {
        return length() + observed.length;
    }

    @Override
    public int sectionLength() {
        return plan == null ? 0 : plan.sectionLength(payloadLength());
    }

    @Override
    public void write(MessageBuffer record) {
        record.payload(array(), 0, length()).begunNs(begunNs);
        if (observed.length > 0) {
            record.observations(observed, length());
        }
        if (sharing != null) {
            sharing.write(record, observedLength());
        }
        if (plan != null) {
            plan.write(record, payloadLength());
            record.tensorCount(plan.tensorCount());
        }
    }

    @Override
    public void appended(Lane lane, long sequence, long id) {
        if (plan != null) {
            lane.appended(plan, sequence, id);
        }
    }

    /** The values alone, in the first {@link #length} bytes. */
    byte[] array() {
        return reply.array();
    }

    int length() {
        return reply.length();
    }

    List<Tensor> tensors() {
        return reply.tensors();
    }

    /** The references among the values. */
    List<? extends RRef> references() {
        return reply.references();
    }
}
