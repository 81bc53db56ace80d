package io.waybill.archive;

import java.util.Locale;
import java.util.Optional;

/**
 * State of one storage of a message in the archive. Immutable.
 *
 * @param sequence sequence of the message in its queue
 * @param storage number of the storage in its message
 * @param omission reason why its bytes are absent; empty when they are there
 * @param sizeBytes size of the storage; 0 when the archive does not have it
 * @param checksum CRC-32C of the bytes as they were archived; 0 when they are not there
 * @param isShared whether the sender still had the storage when it was copied, and might have written into it since it
 * was sent
 * @param archivedNs wall clock in ns since 1970; 0 when the archive does not have it
 * @param offset position of the bytes in the archive's file; 0 when they are not there
 */
public record ArchivedStorage(
        long sequence,
        int storage,
        Optional<Omission> omission,
        long sizeBytes,
        int checksum,
        boolean isShared,
        long archivedNs,
        long offset) {

    static ArchivedStorage of(ArchiveRecord record) {
        Optional<Omission> why = record.code() == 0
                ? Optional.empty()
                : Optional.of(Omission.of(record.code()).orElse(Omission.LOST));
        return new ArchivedStorage(
                record.sequence(),
                record.storage(),
                why,
                record.length(),
                record.checksum(),
                (record.flags() & ArchiveRecord.SHARED) != 0,
                record.timeNs(),
                why.isPresent() ? 0 : record.contentOffset());
    }

    static ArchivedStorage missing(long sequence, int storage, Omission why) {
        return new ArchivedStorage(sequence, storage, Optional.of(why), 0, 0, false, 0, 0);
    }

    /** Returns whether the bytes are in the archive. */
    public boolean isKept() {
        return omission.isEmpty();
    }

    /** Describes the storage in one line: {@code archived, 65536 bytes, crc32c 1c291ca3}, or why it is not archived. */
    public String describe() {
        if (omission.isPresent()) {
            return "not archived: " + omission.get().text();
        }
        return "archived, " + sizeBytes + " bytes, crc32c " + digest() + (isShared ? ", its sender still had it" : "");
    }

    /** Returns the checksum in eight hexadecimal digits. */
    public String digest() {
        return String.format(Locale.ROOT, "%08x", checksum);
    }
}
