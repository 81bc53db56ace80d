package io.waybill.archive;

/** What happens when the archive does not keep up. */
public enum ArchiveOverflow {
    /** The bytes are not kept, which is counted and written into the archive. */
    DROP,
    /** Senders of tensors wait, as long as their deadlines allow. */
    WAIT
}
