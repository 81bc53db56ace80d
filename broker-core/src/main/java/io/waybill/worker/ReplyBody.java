package io.waybill.worker;

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
 * What a handler answers with, until it is sent. Holds one count of the storage of every tensor that was put in, and a handle of its own
 * of every reference.
 *
 * <p>Belongs to the thread that answers.
 */
final class ReplyBody {

    private enum Content {
        NOTHING,
        ENCODED,
        RAW
    }

    private final ValueEncoder encoder = new ValueEncoder(RRef::retain);
    private final Body fields = new Body(encoder);
    private Content content = Content.NOTHING;
    private byte[] raw = new byte[0];
    private int rawLength;
    private List<Tensor> rawTensors = List.of();
    private List<? extends RRef> rawReferences = List.of();

    /** Forgets the answer, and gives back the counts that came with its tensors, and its references. */
    void reset() {
        List<Tensor> given = tensors();
        for (int i = 0; i < given.size(); i++) {
            given.get(i).storage().release();
        }
        List<? extends RRef> shared = references();
        for (int i = 0; i < shared.size(); i++) {
            shared.get(i).close();
        }
        encoder.reset();
        content = Content.NOTHING;
        rawTensors = List.of();
        rawReferences = List.of();
    }

    boolean isEmpty() {
        return content == Content.NOTHING;
    }

    Body fields() {
        reset();
        content = Content.ENCODED;
        return fields.openReply();
    }

    void value(Value value) {
        reset();
        content = Content.ENCODED;
        encoder.reset().value(value);
    }

    void raw(ByteBuffer payload, List<Tensor> tensors) {
        reset();
        content = Content.RAW;
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

    byte[] array() {
        return content == Content.RAW ? raw : encoder.array();
    }

    int length() {
        return content == Content.RAW ? rawLength : encoder.length();
    }

    List<Tensor> tensors() {
        return content == Content.RAW ? rawTensors : encoder.tensors();
    }

    /** The references among the values. */
    List<? extends RRef> references() {
        return content == Content.RAW ? rawReferences : encoder.references();
    }

    /** The type of the answer to a request of this type. */
    static MessageType typeFor(MessageType request) {
        return request.answer().orElse(MessageType.UNKNOWN);
    }
}
