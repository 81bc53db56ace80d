package io.waybill.journal.read;

/** Result of a poll of a {@link JournalTail}. */
public enum Poll {
    /** No new record. */
    NONE,
    /** Records for others, which were skipped; there may be more to read. */
    SKIPPED,
    /** A record for the receiver, checked, in the buffer. */
    RECORD,
    /** A damaged record; the reason is in {@link JournalTail#damage()}. The tail stands after it. */
    DAMAGED
}
