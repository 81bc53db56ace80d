package io.waybill.journal;

import java.time.Duration;

/**
 * Limits for the files of a worker's journal. A file is removed when one of the three limits is exceeded, and no reader
 * needs it.
 *
 * @param maxAge max age of a file's last record; {@link Duration#ZERO} for no limit
 * @param maxBytes max size of both queues, their index and their archive on the disk, reserved space included; 0 for no
 * limit
 * @param maxCycles max files of a queue, including the one that is being written; 0 for no limit
 * @param absentPeers time for which files that an ended peer has not read are exempt from the limits of age and cycles
 */
public record RetentionSettings(Duration maxAge, long maxBytes, int maxCycles, Duration absentPeers) {

    /** Settings without limits: nothing is removed. */
    public static final RetentionSettings DEFAULTS = new RetentionSettings(Duration.ZERO, 0, 0, Duration.ofHours(1));

    /** Min number of reserves in a quota: of two queues, ahead of two files each. */
    public static final int RESERVES_IN_QUOTA = 8;

    private static final int FILES_IN_QUOTA = 16;

    public RetentionSettings {
        if (maxAge.isNegative()) {
            throw new IllegalArgumentException("retention.max-age must not be negative: " + maxAge);
        }
        if (maxBytes < 0) {
            throw new IllegalArgumentException("retention.max-bytes must not be negative: " + maxBytes);
        }
        if (maxCycles < 0) {
            throw new IllegalArgumentException("retention.max-cycles must not be negative: " + maxCycles);
        }
        if (absentPeers.isNegative()) {
            throw new IllegalArgumentException("retention.absent-peers must not be negative: " + absentPeers);
        }
    }

    public RetentionSettings withMaxAge(Duration other) {
        return new RetentionSettings(other, maxBytes, maxCycles, absentPeers);
    }

    public RetentionSettings withMaxBytes(long other) {
        return new RetentionSettings(maxAge, other, maxCycles, absentPeers);
    }

    public RetentionSettings withMaxCycles(int other) {
        return new RetentionSettings(maxAge, maxBytes, other, absentPeers);
    }

    public RetentionSettings withAbsentPeers(Duration other) {
        return new RetentionSettings(maxAge, maxBytes, maxCycles, other);
    }

    /** Returns whether files are ever removed. */
    public boolean limits() {
        return maxAge.toNanos() > 0 || maxBytes > 0 || maxCycles > 0;
    }

    /**
     * Returns the settings of a queue under this quota: with files so small that removing one makes a small difference.
     *
     * @throws IllegalArgumentException when the quota has no room for what is reserved
     */
    public JournalSettings fit(JournalSettings journal) {
        if (maxBytes == 0) {
            return journal;
        }
        long least = RESERVES_IN_QUOTA * journal.reserveBytes();
        if (maxBytes < least) {
            throw new IllegalArgumentException("retention.max-bytes must be at least " + RESERVES_IN_QUOTA
                    + " times journal.reserve-bytes, " + least + ": " + maxBytes);
        }
        long fileBytes = Math.min(journal.fileBytes(), maxBytes / FILES_IN_QUOTA);
        return journal.withFileBytes(Math.max(JournalSettings.FILE_BYTES_MIN, fileBytes));
    }
}
