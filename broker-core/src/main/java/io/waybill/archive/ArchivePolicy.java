package io.waybill.archive;

/** Which storages a worker archives. Their order is that of their numbers in files. */
public enum ArchivePolicy {
    NONE,
    ALL,
    /** Storages up to a max size. */
    UP_TO
}
