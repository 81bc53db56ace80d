package io.waybill.query.stored;

import io.waybill.api.tensor.Tensor;
import io.waybill.archive.ArchiveReader;
import io.waybill.archive.ArchiveReader.Sink;
import io.waybill.archive.ArchivedStorage;
import io.waybill.query.stored.StoredStorage.Location;
import io.waybill.tensor.DescribedTensors;
import java.io.IOException;
import java.util.zip.CRC32C;

/**
 * Locates the bytes of tensors in stored messages: in the record, or in the archive of its worker. One thread at a
 * time.
 */
public final class StoredTensors {

    private final StoredJournals journals;

    /** Creates a view of these journals, which the caller closes. */
    public StoredTensors(StoredJournals journals) {
        this.journals = journals;
    }

    /**
     * Locates the storage of a tensor.
     *
     * @param tensor of the record's payload
     */
    public StoredStorage storageOf(StoredRecord record, Tensor tensor) throws IOException {
        int number = DescribedTensors.storageOf(tensor);
        long bytes = tensor.storage().sizeBytes();
        if (DescribedTensors.isInline(tensor)) {
            CRC32C checksum = new CRC32C();
            checksum.update(tensor.storage().bytes(0, (int) bytes));
            String digest = String.format("%08x", checksum.getValue());
            return new StoredStorage(number, bytes, Location.RECORD, digest, "in the record, crc32c " + digest);
        }
        ArchivedStorage archived = archived(record, number);
        Location location = archived.isKept() ? Location.ARCHIVE : Location.NOWHERE;
        return new StoredStorage(
                number, bytes, location, archived.isKept() ? archived.digest() : "", archived.describe());
    }

    /**
     * Passes on the bytes of an archived storage.
     *
     * @return false when they are not the archived bytes: they must not be used
     */
    public boolean readArchived(StoredRecord record, Tensor tensor, Sink sink) throws IOException {
        ArchivedStorage archived = archived(record, DescribedTensors.storageOf(tensor));
        return archive(record).read(record.queue(), record.position().fileName(), archived, sink);
    }

    private ArchivedStorage archived(StoredRecord record, int number) throws IOException {
        return archive(record).find(record.queue(), record.position(), record.sequence(), number);
    }

    private ArchiveReader archive(StoredRecord record) {
        return journals.archive(record.worker().id());
    }
}
