package io.waybill.archive;

import java.util.Objects;

/**
 * Settings of the archive of tensors that a worker sends through segments.
 *
 * @param maxStorageBytes largest storage that is archived, with {@link ArchivePolicy#UP_TO}
 * @param totalBytes max size of all archive files of the worker
 * @param overflow policy when more than {@code waitingBytes} wait
 * @param waitingBytes max bytes that wait to be archived; a larger storage waits alone
 * @param bytesPerSecond max bytes archived per second, beyond {@code waitingBytes} after a rest, if more is not waited
 * for but dropped; 0 for no limit
 */
public record ArchiveSettings(
        ArchivePolicy policy,
        long maxStorageBytes,
        long totalBytes,
        ArchiveOverflow overflow,
        long waitingBytes,
        long bytesPerSecond) {

    public static final ArchivePolicy POLICY_DEFAULT = ArchivePolicy.UP_TO;
    public static final long MAX_STORAGE_BYTES_DEFAULT = 16L << 20;
    public static final long TOTAL_BYTES_DEFAULT = 4L << 30;
    public static final ArchiveOverflow OVERFLOW_DEFAULT = ArchiveOverflow.DROP;
    public static final long WAITING_BYTES_DEFAULT = 256L << 20;
    public static final long BYTES_PER_SECOND_DEFAULT = 32L << 20;
    private static final long LEAST_TOTAL_BYTES = 1L << 20;

    /** Default settings of a worker: enough to replay most calls. */
    public static final ArchiveSettings DEFAULTS = new ArchiveSettings(
            POLICY_DEFAULT,
            MAX_STORAGE_BYTES_DEFAULT,
            TOTAL_BYTES_DEFAULT,
            OVERFLOW_DEFAULT,
            WAITING_BYTES_DEFAULT,
            BYTES_PER_SECOND_DEFAULT);

    /** Settings of a worker that archives nothing. */
    public static final ArchiveSettings NONE = DEFAULTS.withPolicy(ArchivePolicy.NONE);

    public ArchiveSettings {
        Objects.requireNonNull(policy);
        Objects.requireNonNull(overflow);
        if (maxStorageBytes < 1) {
            throw new IllegalArgumentException("archive.max-storage-bytes must be at least 1: " + maxStorageBytes);
        }
        if (totalBytes < LEAST_TOTAL_BYTES) {
            throw new IllegalArgumentException(
                    "archive.total-bytes must be at least " + LEAST_TOTAL_BYTES + ": " + totalBytes);
        }
        if (waitingBytes < 1) {
            throw new IllegalArgumentException("archive.waiting-bytes must be at least 1: " + waitingBytes);
        }
        if (bytesPerSecond < 0) {
            throw new IllegalArgumentException("archive.bytes-per-second must be 0 or more: " + bytesPerSecond);
        }
    }

    public ArchiveSettings withPolicy(ArchivePolicy other) {
        return new ArchiveSettings(other, maxStorageBytes, totalBytes, overflow, waitingBytes, bytesPerSecond);
    }

    public ArchiveSettings withMaxStorageBytes(long other) {
        return new ArchiveSettings(policy, other, totalBytes, overflow, waitingBytes, bytesPerSecond);
    }

    public ArchiveSettings withTotalBytes(long other) {
        return new ArchiveSettings(policy, maxStorageBytes, other, overflow, waitingBytes, bytesPerSecond);
    }

    public ArchiveSettings withOverflow(ArchiveOverflow other) {
        return new ArchiveSettings(policy, maxStorageBytes, totalBytes, other, waitingBytes, bytesPerSecond);
    }

    public ArchiveSettings withWaitingBytes(long other) {
        return new ArchiveSettings(policy, maxStorageBytes, totalBytes, overflow, other, bytesPerSecond);
    }

    public ArchiveSettings withBytesPerSecond(long other) {
        return new ArchiveSettings(policy, maxStorageBytes, totalBytes, overflow, waitingBytes, other);
    }

    /** Returns the max rate; 0 for none, as when calls wait for the archive. */
    long keptPerSecond() {
        return overflow == ArchiveOverflow.DROP ? bytesPerSecond : 0;
    }

    /** Describes for the log which storages are kept, and their max cost. */
    String text() {
        String rate = keptPerSecond() == 0 ? "at any rate" : "at most " + mebibytes(bytesPerSecond) + " a second";
        String which = policy == ArchivePolicy.ALL ? "all" : "those of up to " + mebibytes(maxStorageBytes);
        return which + ", " + rate + " and " + mebibytes(totalBytes) + " in all";
    }

    private static String mebibytes(long bytes) {
        return bytes >> 20 == 0 ? bytes + " bytes" : (bytes >> 20) + " MiB";
    }

    /** Returns the max size of a storage that is kept. */
    long largestKept() {
        return switch (policy) {
            case NONE -> -1;
            case ALL -> Long.MAX_VALUE;
            case UP_TO -> maxStorageBytes;
        };
    }
}
