package io.waybill.query.stored;

import io.waybill.api.tensor.Tensor;
import io.waybill.archive.ArchiveReader;
import io.waybill.archive.ArchivedStorage;
import io.waybill.host.Host;
import io.waybill.query.stored.StoredStorage.Place;
import io.waybill.tensor.DescribedTensors;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.zip.CRC32C;

/** Where the bytes of the tensors in stored messages are: in the record, or in the archive of its worker. One thread at a time. */
public final class StoredTensors implements Closeable {

    private final StoredJournals journals;
    private final Map<Path, ArchiveReader> archives = new HashMap<>();

    /** Of these journals, which stay their owner's. */
    public StoredTensors(StoredJournals journals) {
        this.journals = journals;
    }

    /** @param tensor of the record's payload */
    public StoredStorage storageOf(StoredRecord record, Tensor tensor) throws IOException {
        int number = DescribedTensors.storageOf(tensor);
        long bytes = tensor.storage().sizeBytes();
        if (DescribedTensors.isInline(tensor)) {
            CRC32C checksum = new CRC32C();
            checksum.update(tensor.storage().bytes(0, (int) bytes));
            String digest = String.format("%08x", checksum.getValue());
            return new StoredStorage(number, bytes, Place.RECORD, digest, "in the record, crc32c " + digest);
        }
        ArchivedStorage archived = archived(record, number);
        Place place = archived.isKept() ? Place.ARCHIVE : Place.NOWHERE;
        return new StoredStorage(number, bytes, place, archived.isKept() ? archived.digest() : "", archived.describe());
    }

    /** Takes the bytes of a storage, piece by piece. */
    @FunctionalInterface
    public interface Sink {
        void accept(ByteBuffer piece) throws IOException;
    }

    /**
     * Gives the bytes of an archived storage.
     *
     * @return false when they are not those that were archived: what was given must not be used
     */
    public boolean readArchived(StoredRecord record, Tensor tensor, Sink sink) throws IOException {
        ArchivedStorage archived = archived(record, DescribedTensors.storageOf(tensor));
        return archive(record).read(record.queue(), record.place().fileName(), archived, sink::accept);
    }

    private ArchivedStorage archived(StoredRecord record, int number) throws IOException {
        return archive(record).find(record.queue(), record.place(), record.sequence(), number);
    }

    private ArchiveReader archive(StoredRecord record) {
        Host host = journals.host();
        Path directory =
                journals.find(record.worker().id()).map(StoredJournal::path).orElseThrow();
        return archives.computeIfAbsent(directory, path -> ArchiveReader.open(path, host.files()));
    }

    @Override
    public void close() throws IOException {
        for (ArchiveReader archive : archives.values()) {
            archive.close();
        }
        archives.clear();
    }
}
