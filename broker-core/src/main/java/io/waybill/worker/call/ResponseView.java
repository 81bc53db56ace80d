package io.waybill.worker.call;

import io.waybill.api.MessageType;
import io.waybill.api.tensor.Tensor;
import io.waybill.handling.ResponseFields;
import io.waybill.wire.RecordView;
import io.waybill.worker.reference.ReceivedReferences;
import io.waybill.worker.reference.ReferenceHandle;
import java.nio.ByteBuffer;
import java.util.List;

/** A response while its listener is called: a view of the record. Belongs to the permit's holder. */
public final class ResponseView extends ResponseFields {

    private RecordView record;
    private List<Tensor> tensors = List.of();
    private ReceivedReferences references = ReceivedReferences.none();
    private boolean retained;

    public void open(RecordView of, List<Tensor> arrived, ReceivedReferences shared) {
        record = of;
        tensors = arrived;
        references = shared;
    }

    /** Marks that the keeper of the response took a count of each tensor's storage. */
    void retained() {
        retained = true;
    }

    boolean isRetained() {
        return retained;
    }

    /** Transfers the references to an owner that releases them. */
    ReceivedReferences takeReferences() {
        ReceivedReferences taken = references;
        references = ReceivedReferences.none();
        return taken;
    }

    void closeView() {
        record = null;
        tensors = List.of();
        takeReferences().release();
    }

    @Override
    protected List<ReferenceHandle> references() {
        return references.held();
    }

    @Override
    public MessageType type() {
        return record.type();
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
        return record.payload();
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
