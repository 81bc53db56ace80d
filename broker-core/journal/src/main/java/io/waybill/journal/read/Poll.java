package io.waybill.journal.read;

/** Result of a poll of a {@link JournalTail}. */
public enum Poll {
    /** No new record. */
    NONE,
    /** Records for others, which were skipped; there may be more to read. */
    SKIPPED,
    /** Record for the receiver, checked, in the buffer. */
    RECORD,
    /** Damaged record; the reason is in {@link JournalTail#damage()}. The tail is after it. */
    DAMAGED
}
