package io.waybill.archive;

/** Policy for an archive that lags too far. */
public enum ArchiveOverflow {
    /** The bytes are not kept, which is counted and written into the archive. */
    DROP,
    /** Senders of tensors wait, up to their deadlines. */
    WAIT
}
