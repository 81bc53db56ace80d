package io.waybill.archive;

import io.waybill.archive.ArchiveRecord.Kind;
import java.util.ArrayList;
import java.util.List;

/**
 * Sessions, ends and gaps of an archive file, which describe the storages without a record of their own. For one
 * thread.
 */
final class History {

    private final List<ArchiveRecord> records;

    History() {
        this(List.of());
    }

    private History(List<ArchiveRecord> records) {
        this.records = new ArrayList<>(records);
    }

    History copy() {
        return new History(records);
    }

    /** Adds the next record of the file. */
    void add(ArchiveRecord record) {
        if (record.kind() == Kind.SESSION || record.kind() == Kind.END || record.kind() == Kind.GAP) {
            records.add(record);
        }
    }

    /** Returns why a storage of the message with this sequence has no record. */
    Omission whyNot(long sequence) {
        boolean isKept = false;
        boolean isOver = false;
        for (ArchiveRecord record : records) {
            switch (record.kind()) {
                case GAP:
                    if (record.sequence() <= sequence && sequence <= record.length()) {
                        return Omission.of(record.code()).orElse(Omission.LOST);
                    }
                    break;
                case SESSION:
                    if (record.sequence() <= sequence) {
                        isKept = record.code() != ArchivePolicy.NONE.ordinal();
                        isOver = false;
                    } else {
                        isOver = true;
                    }
                    break;
                default:
                    isOver |= record.sequence() > sequence;
            }
        }
        if (!isKept) {
            return Omission.NOT_KEPT;
        }
        return isOver ? Omission.LOST : Omission.PENDING;
    }
}
