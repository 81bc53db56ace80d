package io.waybill.archive;

/** Policy for the storages that a worker archives. The order is that of their numbers in files. */
public enum ArchivePolicy {
    NONE,
    ALL,
    /** Storages up to a max size. */
    UP_TO
}
