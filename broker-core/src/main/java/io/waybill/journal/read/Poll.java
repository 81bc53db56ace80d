package io.waybill.journal.read;

/** What a {@link JournalTail} found. */
public enum Poll {
    /** Nothing new yet. */
    NONE,
    /** Records for others, which were skipped; there may be more to read. */
    SKIPPED,
    /** A record for the receiver, checked, in the buffer. */
    RECORD,
    /** A record that is not whole; the reason is in {@link JournalTail#damage()}. The tail stands behind it. */
    DAMAGED
}
