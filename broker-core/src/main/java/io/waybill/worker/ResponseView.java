package io.waybill.worker;

import io.waybill.api.MessageType;
import io.waybill.api.Tensor;
import io.waybill.handling.ResponseFields;
import io.waybill.wire.RecordView;
import java.nio.ByteBuffer;
import java.util.List;

/** A response while its listener is called: a view of the record. Belongs to the permit's holder. */
final class ResponseView extends ResponseFields {

    private RecordView record;
    private List<Tensor> tensors = List.of();
    private ArrivedReferences references = ArrivedReferences.none();
    private boolean retained;

    void open(RecordView of, List<Tensor> arrived, ArrivedReferences shared) {
        record = of;
        tensors = arrived;
        references = shared;
    }

    /** A count of each tensor's storage was taken for who keeps the response. */
    void retained() {
        retained = true;
    }

    boolean isRetained() {
        return retained;
    }

    /** Gives the references to somebody who releases them. */
    ArrivedReferences takeReferences() {
        ArrivedReferences taken = references;
        references = ArrivedReferences.none();
        return taken;
    }

    void closeView() {
        record = null;
        tensors = List.of();
        takeReferences().release();
    }

    @Override
    protected List<HeldReference> references() {
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
        // the broker's
    }
}
