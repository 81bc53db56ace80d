package io.waybill.worker;

import io.waybill.api.Body;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.Tensor;
import io.waybill.api.Value;
import io.waybill.api.ValueEncoder;
import io.waybill.tensor.Plan;
import io.waybill.wire.MessageBuffer;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * What a handler answers with, until it is sent. Holds one count of the storage of every tensor that was put in, and a handle of its own
 * of every reference.
 *
 * <p>Belongs to the thread that answers.
 */
final class ReplyBody implements Answers.Content {

    private enum Form {
        NOTHING,
        ENCODED,
        RAW
    }

    private final ValueEncoder encoder = new ValueEncoder(RRef::retain);
    private final Body fields = new Body(encoder);
    private Form form = Form.NOTHING;
    private byte[] raw = new byte[0];
    private int rawLength;
    private List<Tensor> rawTensors = List.of();
    private List<? extends RRef> rawReferences = List.of();
    private Plan plan;
    private Sharing sharing;
    private long begunNs;

    /** Forgets the answer, and gives back the counts that came with its tensors, and its references. */
    void reset() {
        if (form == Form.NOTHING) {
            return;
        }
        List<Tensor> given = tensors();
        for (int i = 0; i < given.size(); i++) {
            given.get(i).storage().release();
        }
        List<? extends RRef> shared = references();
        for (int i = 0; i < shared.size(); i++) {
            shared.get(i).close();
        }
        encoder.reset();
        form = Form.NOTHING;
        rawTensors = List.of();
        rawReferences = List.of();
        travelsWith(null, null);
    }

    boolean isEmpty() {
        return form == Form.NOTHING;
    }

    Body fields() {
        reset();
        form = Form.ENCODED;
        return fields.openReply();
    }

    void value(Value value) {
        reset();
        form = Form.ENCODED;
        encoder.reset().value(value);
    }

    void raw(ByteBuffer payload, List<Tensor> tensors) {
        reset();
        form = Form.RAW;
        rawLength = payload.remaining();
        if (raw.length < rawLength) {
            raw = new byte[Math.max(rawLength, 1024)];
        }
        payload.get(payload.position(), raw, 0, rawLength);
        rawTensors = tensors.isEmpty() ? List.of() : new ArrayList<>(tensors);
    }

    /**
     * A value that this worker owns.
     *
     * @throws io.waybill.api.CallException when a reference that it holds has failed
     */
    void stored(StoredValue value) {
        List<HeldReference> taken = HeldReference.all(value.references(), HeldReference::retain);
        value.tensors().forEach(tensor -> tensor.storage().retain());
        raw(value.payload(), value.tensors());
        rawReferences = taken;
    }

    /** When its handler began, by the wall clock; 0 when nobody looked at it. */
    void begunAt(long wallNs) {
        begunNs = wallNs;
    }

    /** How it is sent. @param tensors null for none @param shared the references; null for none */
    void travelsWith(Plan tensors, Sharing shared) {
        plan = tensors;
        sharing = shared;
    }

    @Override
    public int payloadLength() {
        return length() + (sharing == null ? 0 : sharing.length());
    }

    @Override
    public int sectionLength() {
        return plan == null ? 0 : plan.sectionLength(payloadLength());
    }

    @Override
    public void write(MessageBuffer record) {
        record.payload(array(), 0, length()).begunNs(begunNs);
        if (sharing != null) {
            sharing.write(record, length());
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
        return form == Form.RAW ? raw : encoder.array();
    }

    int length() {
        return form == Form.RAW ? rawLength : encoder.length();
    }

    List<Tensor> tensors() {
        return form == Form.RAW ? rawTensors : encoder.tensors();
    }

    /** The references among the values. */
    List<? extends RRef> references() {
        return form == Form.RAW ? rawReferences : encoder.references();
    }

    /** The type of the answer to a request of this type. */
    static MessageType typeFor(MessageType request) {
        return request.answer().orElse(MessageType.UNKNOWN);
    }
}
