package io.waybill.worker.call;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.tensor.Tensor;
import io.waybill.handling.PassedObjects;
import io.waybill.handling.ReplaceableResponse;
import io.waybill.handling.ResponseFields;
import io.waybill.wire.RecordView;
import io.waybill.worker.reference.ReceivedReferences;
import java.nio.ByteBuffer;
import java.util.List;

/** A response while its listener is called: a view of the record. Belongs to the permit's holder. */
public final class ResponseView extends ResponseFields implements ReplaceableResponse {

    private RecordView record;
    private List<Tensor> tensors = List.of();
    private ReceivedReferences references = ReceivedReferences.none();
    private boolean retained;
    private boolean dropped;
    private ErrorCode failed; // null for none
    // Parts that interceptors replaced; null or empty for the parts of the record.
    private MessageType unwrappedType;
    private byte[] unwrappedPayload;
    private List<Tensor> passedTensors = List.of(); // one count of each storage
    private List<? extends RRef> passedReferences; // a handle of each

    public void open(RecordView of, List<Tensor> arrived, ReceivedReferences shared) {
        forgetFields();
        dropped = false;
        failed = null;
        record = of;
        tensors = arrived;
        references = shared;
    }

    /** Notes that the call had its outcome before this response could be delivered. */
    void dropped() {
        dropped = true;
    }

    boolean isDropped() {
        return dropped;
    }

    /** Notes that an interceptor made the response a failure. */
    void failed(ErrorCode code) {
        failed = code;
    }

    /** Returns the error that an interceptor made of the response; null for none. */
    ErrorCode failed() {
        return failed;
    }

    @Override
    public void unwrap(MessageType type, byte[] payload) {
        forgetFields();
        unwrappedType = type;
        unwrappedPayload = payload;
    }

    /**
     * Replaces the response. The references are closed with this object, unless they are
     * {@linkplain #takePassedReferences taken}.
     */
    @Override
    public void unwrap(MessageType type, byte[] payload, List<Tensor> newTensors, List<? extends RRef> newReferences) {
        releaseRetained();
        releasePassed();
        unwrap(type, payload);
        tensors = newTensors;
        passedTensors = newTensors;
        passedReferences = newReferences;
    }

    private void releasePassed() {
        PassedObjects.release(passedTensors, passedReferences == null ? List.of() : passedReferences);
        passedTensors = List.of();
        passedReferences = null;
    }

    /** Returns the references that an interceptor passed, which the caller closes from now on; null for none. */
    List<? extends RRef> takePassedReferences() {
        List<? extends RRef> taken = passedReferences;
        passedReferences = null;
        return taken;
    }

    /** Marks that the keeper of the response took a count of each tensor's storage. */
    void retained() {
        retained = true;
    }

    boolean isRetained() {
        return retained;
    }

    /** Releases the counts that were taken for a keeper which does not get the response. Does not throw. */
    void releaseRetained() {
        if (retained) {
            retained = false;
            PassedObjects.release(tensors, List.of());
        }
    }

    /** Transfers the references to an owner that releases them. */
    ReceivedReferences takeReferences() {
        ReceivedReferences taken = references;
        references = ReceivedReferences.none();
        return taken;
    }

    void closeView() {
        forgetFields();
        record = null;
        tensors = List.of();
        if (unwrappedType != null) {
            releasePassed();
            unwrappedType = null;
            unwrappedPayload = null;
        }
        takeReferences().release();
    }

    @Override
    public List<? extends RRef> references() {
        return passedReferences == null ? references.held() : passedReferences;
    }

    @Override
    public MessageType type() {
        return unwrappedType == null ? record.type() : unwrappedType;
    }

    @Override
    public long id() {
        return record.id();
    }

    @Override
    public int from() {
        return record.from();
    }

    @Override
    public ByteBuffer payload() {
        return unwrappedType == null
                ? record.payload()
                : ByteBuffer.wrap(unwrappedPayload).asReadOnlyBuffer();
    }

    @Override
    protected ByteBuffer values() {
        return unwrappedType == null ? record.values() : payload();
    }

    @Override
    public List<Tensor> tensors() {
        return tensors;
    }

    @Override
    public void close() {
        // owned by the broker
    }
}
