package io.waybill.query.stored;

import io.waybill.api.tensor.Tensor;
import io.waybill.archive.ArchiveReader;
import io.waybill.archive.ArchiveReader.Sink;
import io.waybill.archive.ArchivedStorage;
import io.waybill.query.stored.StoredStorage.Location;
import io.waybill.tensor.DescribedTensors;
import java.io.IOException;
import java.nio.ByteBuffer;

/** Locates the bytes of tensors of a home: in the record, or in the archive of its worker. One thread at a time. */
public final class ArchivedTensors implements StoredTensors {

    private final StoredJournals journals;

    /** Creates a view of these journals, which the caller closes. */
    public ArchivedTensors(StoredJournals journals) {
        this.journals = journals;
    }

    @Override
    public StoredStorage storageOf(StoredRecord record, Tensor tensor) throws IOException {
        int number = DescribedTensors.storageOf(tensor);
        long bytes = tensor.storage().sizeBytes();
        if (DescribedTensors.isInline(tensor)) {
            return StoredStorage.inRecord(tensor);
        }
        ArchivedStorage archived = archived(record, number);
        Location location = archived.isKept() ? Location.ARCHIVE : Location.NOWHERE;
        return new StoredStorage(
                number, bytes, location, archived.isKept() ? archived.digest() : "", archived.describe());
    }

    @Override
    public boolean read(StoredRecord record, Tensor tensor, Sink sink) throws IOException {
        ArchivedStorage archived = archived(record, DescribedTensors.storageOf(tensor));
        return archive(record).read(record.queue(), record.fileName(), archived, sink);
    }

    @Override
    public boolean readKept(StoredRecord record, Tensor tensor, long offset, ByteBuffer to) throws IOException {
        ArchivedStorage archived = archived(record, DescribedTensors.storageOf(tensor));
        return archive(record).read(record.queue(), record.fileName(), archived, offset, to);
    }

    private ArchivedStorage archived(StoredRecord record, int number) throws IOException {
        return archive(record).find(record.queue(), record.fileName(), record.sequence(), number);
    }

    private ArchiveReader archive(StoredRecord record) {
        return journals.archive(record.worker().id());
    }
}
