package io.waybill.archive;

/** Which storages a worker archives. Their order is that of their numbers in files. */
public enum ArchivePolicy {
    NONE,
    ALL,
    /** Those of at most so many bytes. */
    UP_TO
}
