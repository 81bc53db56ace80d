package io.waybill.replay.recording;

import io.waybill.archive.ArchiveReader;
import io.waybill.archive.ArchiveReader.Sink;
import io.waybill.archive.ArchivedStorage;
import io.waybill.archive.Omission;
import io.waybill.query.stored.StoredJournals;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.util.Optional;

/** Archives of a home's workers. One thread. */
final class ArchivedStorages implements StorageBytes {

    private final StoredJournals journals;

    ArchivedStorages(StoredJournals journals) {
        this.journals = journals;
    }

    private ArchiveReader archive(RecordedMessage message) {
        return journals.archive(message.worker().id());
    }

    private ArchivedStorage find(RecordedMessage message, RecordView record, int number) throws IOException {
        return archive(message).find(message.queue(), message.fileName(), record.sequence(), number);
    }

    @Override
    public Optional<String> missing(RecordedMessage message, RecordView record, int number, long sizeBytes)
            throws IOException {
        ArchivedStorage found = find(message, record, number);
        if (!found.isKept()) {
            return Optional.of(found.describe());
        }
        if (found.sizeBytes() != sizeBytes) {
            return Optional.of("the archive has " + found.sizeBytes() + " bytes of it");
        }
        return archive(message).reaches(message.queue(), message.fileName(), found)
                ? Optional.empty()
                : Optional.of("not archived: " + Omission.DAMAGED.text());
    }

    @Override
    public Optional<String> read(RecordedMessage message, RecordView record, int number, Sink sink) throws IOException {
        ArchivedStorage found = find(message, record, number);
        boolean isWhole = found.isKept() && archive(message).read(message.queue(), message.fileName(), found, sink);
        return isWhole ? Optional.empty() : Optional.of("not archived: " + Omission.DAMAGED.text());
    }
}
