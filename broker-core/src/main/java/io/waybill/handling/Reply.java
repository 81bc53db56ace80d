package io.waybill.handling;

import io.waybill.api.Body;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.Tensor;
import io.waybill.api.Value;
import io.waybill.api.ValueEncoder;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * What a handler answers with. Holds one count of the storage of every tensor that was put in, and a handle of its own of every
 * reference. Reusable.
 *
 * <p>Belongs to the thread that answers.
 */
public final class Reply {

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

    /** Forgets the answer, and gives back the counts that came with its tensors, and its references. */
    public void reset() {
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
    }

    public boolean isEmpty() {
        return form == Form.NOTHING;
    }

    /** Starts an answer with named fields. */
    public Body fields() {
        reset();
        form = Form.ENCODED;
        return fields.openReply();
    }

    public void value(Value value) {
        reset();
        form = Form.ENCODED;
        encoder.reset().value(value);
    }

    public void raw(ByteBuffer payload, List<Tensor> tensors) {
        raw(payload, tensors, List.of());
    }

    /** @param references handles that are this object's from now on */
    public void raw(ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        reset();
        form = Form.RAW;
        rawLength = payload.remaining();
        if (raw.length < rawLength) {
            raw = new byte[Math.max(rawLength, 1024)];
        }
        payload.get(payload.position(), raw, 0, rawLength);
        rawTensors = tensors.isEmpty() ? List.of() : new ArrayList<>(tensors);
        rawReferences = references;
    }

    /** The values, in the first {@link #length} bytes. Valid until the next change. */
    public byte[] array() {
        return form == Form.RAW ? raw : encoder.array();
    }

    public int length() {
        return form == Form.RAW ? rawLength : encoder.length();
    }

    public List<Tensor> tensors() {
        return form == Form.RAW ? rawTensors : encoder.tensors();
    }

    /** The references among the values. */
    public List<? extends RRef> references() {
        return form == Form.RAW ? rawReferences : encoder.references();
    }

    /** The type of the answer to a request of this type. */
    public static MessageType typeFor(MessageType request) {
        return request.answer().orElse(MessageType.UNKNOWN);
    }
}
