package io.waybill.handling;

import io.waybill.api.Body;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.Value;
import io.waybill.api.ValueEncoder;
import io.waybill.api.tensor.Tensor;
import io.waybill.host.failure.ForeignErrors;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Response of a handler while it is composed. Holds one count of the storage of every tensor in it, and a separate
 * handle of every reference. Reusable.
 *
 * <p>Belongs to the thread that responds.
 */
public final class OutgoingResponse {

    private enum Form {
        NOTHING,
        ENCODED,
        RAW
    }

    private static final Logger LOG = LoggerFactory.getLogger(OutgoingResponse.class);

    private final Consumer<? super Throwable> onFailure;
    private final ValueEncoder encoder = new ValueEncoder(RRef::retain);
    private final Body fields = new Body(encoder);
    private Form form = Form.NOTHING;
    private byte[] raw = new byte[0];
    private int rawLength;
    private List<Tensor> rawTensors = List.of();
    private List<? extends RRef> rawReferences = List.of();

    /** Creates an empty response, which logs exceptions of storages and references that are released. */
    public OutgoingResponse() {
        this(e -> ForeignErrors.warn(LOG, "A storage or a reference of a response could not be given back", e));
    }

    /**
     * Creates an empty response.
     *
     * @param onFailure called with an exception of a storage or a reference that is released; the others are released
     * all the same
     */
    public OutgoingResponse(Consumer<? super Throwable> onFailure) {
        this.onFailure = onFailure;
    }

    /** Returns an empty response, which reports to the same listener. */
    public OutgoingResponse another() {
        return new OutgoingResponse(onFailure);
    }

    /** Discards the response, and releases its tensors' counts and its references. Does not throw. */
    public void reset() {
        if (form == Form.NOTHING) {
            return;
        }
        List<Tensor> given = tensors();
        for (int i = 0; i < given.size(); i++) {
            try {
                given.get(i).storage().release();
            } catch (Throwable e) { // the boundary around a storage
                onFailure.accept(e);
            }
        }
        List<? extends RRef> shared = references();
        for (int i = 0; i < shared.size(); i++) {
            try {
                shared.get(i).close();
            } catch (Throwable e) { // the boundary around a reference
                onFailure.accept(e);
            }
        }
        forget();
    }

    public boolean isEmpty() {
        return form == Form.NOTHING;
    }

    /** Starts a response with named fields. */
    public Body fields() {
        reset();
        form = Form.ENCODED;
        return fields.openResponse();
    }

    public void value(Value value) {
        reset();
        form = Form.ENCODED;
        encoder.reset();
        try {
            encoder.value(value);
        } catch (RuntimeException | Error e) { // a part of it is no response
            reset();
            throw e;
        }
    }

    public void raw(ByteBuffer payload, List<Tensor> tensors) {
        raw(payload, tensors, List.of());
    }

    /**
     * Sets raw bytes, tensors and references.
     *
     * @param references handles that this object owns from now on
     */
    public void raw(ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        reset();
        List<Tensor> all = tensors.isEmpty() ? List.of() : new ArrayList<>(tensors);
        rawLength = payload.remaining();
        if (raw.length < rawLength) {
            raw = new byte[Math.max(rawLength, 1024)];
        }
        payload.get(payload.position(), raw, 0, rawLength);
        form = Form.RAW; // last: values of a call that threw are no response
        rawTensors = all;
        rawReferences = references;
    }

    /**
     * Sets raw bytes, tensors and references, and acquires separate handles of the references.
     *
     * @param references references whose handles the caller keeps
     */
    public void rawWith(ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        List<RRef> taken = PassedObjects.handlesOf(references);
        try {
            raw(payload, tensors, taken);
        } catch (RuntimeException | Error e) {
            PassedObjects.release(List.of(), taken);
            throw e;
        }
    }

    /** Forgets the response, whose tensors and references have another owner now. */
    public void forget() {
        encoder.reset();
        form = Form.NOTHING;
        rawTensors = List.of();
        rawReferences = List.of();
    }

    /** Returns the values, in the first {@link #length} bytes. Valid until the next change. */
    public byte[] array() {
        return form == Form.RAW ? raw : encoder.array();
    }

    public int length() {
        return form == Form.RAW ? rawLength : encoder.length();
    }

    public List<Tensor> tensors() {
        return form == Form.RAW ? rawTensors : encoder.tensors();
    }

    /** Returns the references among the values. */
    public List<? extends RRef> references() {
        return form == Form.RAW ? rawReferences : encoder.references();
    }

    /** Returns the type of the response to a request of this type. */
    public static MessageType typeFor(MessageType request) {
        return request.response().orElse(MessageType.UNKNOWN);
    }
}
