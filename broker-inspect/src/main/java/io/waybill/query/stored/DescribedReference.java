package io.waybill.query.stored;

import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Response;
import io.waybill.rref.id.ForkData;
import io.waybill.rref.id.ForkTable;
import io.waybill.wire.RecordView;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A remote reference in a record: only for display. */
record DescribedReference(ForkData data) implements RRef {

    /** Returns the references of a record, in the order of their indices. */
    static List<RRef> of(RecordView record) throws RejectedMessageException {
        List<RRef> described = new ArrayList<>();
        if (record.hasReferences()) {
            ForkTable.decode(record.copyReferences()).forEach(data -> described.add(new DescribedReference(data)));
        }
        return described;
    }

    private static UnsupportedOperationException inAJournal() {
        return new UnsupportedOperationException("a reference in a journal has no value");
    }

    @Override
    public Response toHere(Duration timeout) {
        throw inAJournal();
    }

    @Override
    public Response toHere() {
        throw inAJournal();
    }

    @Override
    public CompletableFuture<Response> toHereAsync(Duration timeout) {
        throw inAJournal();
    }

    @Override
    public Response localValue() {
        throw inAJournal();
    }

    @Override
    public void keep() {
        throw inAJournal();
    }

    @Override
    public int owner() {
        return data.owner();
    }

    @Override
    public boolean isOwner() {
        return false;
    }

    @Override
    public boolean confirmedByOwner() {
        return false;
    }

    @Override
    public CompletableFuture<Void> confirmation() {
        throw inAJournal();
    }

    @Override
    public String type() {
        return data.type();
    }

    @Override
    public RRef retain() {
        return this;
    }

    @Override
    public void close() {
        // holds no resources
    }

    @Override
    public String toString() {
        return "RRef(" + data.rref() + ", owner " + data.owner() + ")";
    }
}
