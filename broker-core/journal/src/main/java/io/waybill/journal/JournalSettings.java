package io.waybill.journal;

import java.time.Duration;
import java.util.Locale;
import java.util.Objects;

/**
 * Settings of one queue.
 *
 * @param roll cycle in which new files begin
 * @param blockBytes size of one mapped block, a power of two from 1 MiB on
 * @param maxRecordBytes max size of a record; at most a quarter of a block, so that a record never crosses two mapped
 * blocks
 * @param reserveBytes disk space that is reserved ahead of what is written
 * @param fileBytes size of a file after which a new one begins
 * @param durability extent of the loss that a power cut may cause
 * @param syncInterval interval between syncs with {@link Durability#INTERVAL}
 */
public record JournalSettings(
        Roll roll,
        long blockBytes,
        int maxRecordBytes,
        long reserveBytes,
        long fileBytes,
        Durability durability,
        Duration syncInterval) {

    /** Default size of a mapped block. */
    public static final long BLOCK_BYTES_DEFAULT = 64L << 20;
    /** Default max size of a record. */
    public static final int MAX_RECORD_BYTES_DEFAULT = 8 << 20;
    /** Default reserve: a second at about 300,000 calls of 200 bytes. */
    public static final long RESERVE_BYTES_DEFAULT = 64L << 20;
    /** Default size of a file: half a minute at 20,000 calls of 200 bytes a second. */
    public static final long FILE_BYTES_DEFAULT = 128L << 20;
    /** Min size of a file. */
    public static final long FILE_BYTES_MIN = 1L << 20;
    /** Max size of a file: fewer records fit than Chronicle can number in a file. */
    public static final long FILE_BYTES_MAX = 4L << 30;

    /** Default interval between syncs. */
    public static final Duration SYNC_INTERVAL_DEFAULT = Duration.ofMillis(50);

    public JournalSettings {
        Objects.requireNonNull(roll);
        Objects.requireNonNull(durability);
        if (blockBytes < 1 << 20 || Long.bitCount(blockBytes) != 1) {
            throw new IllegalArgumentException(
                    "journal.block-bytes must be a power of two from 1048576 on: " + blockBytes);
        }
        if (maxRecordBytes < 4096 || maxRecordBytes > blockBytes / 4) {
            throw new IllegalArgumentException("journal.max-record-bytes must be from 4096 to a quarter of a block, "
                    + blockBytes / 4 + ": " + maxRecordBytes);
        }
        if (reserveBytes < 1 << 20) {
            throw new IllegalArgumentException("journal.reserve-bytes must be 1048576 or more: " + reserveBytes);
        }
        if (fileBytes < FILE_BYTES_MIN || fileBytes > FILE_BYTES_MAX) {
            throw new IllegalArgumentException(
                    "journal.file-bytes must be from " + FILE_BYTES_MIN + " to " + FILE_BYTES_MAX + ": " + fileBytes);
        }
        if (syncInterval.compareTo(Duration.ofMillis(1)) < 0 || syncInterval.compareTo(Duration.ofMinutes(1)) > 0) {
            throw new IllegalArgumentException("journal.sync-interval must be from 1ms to 1m: " + syncInterval);
        }
    }

    /** Creates settings with default file size and durability. */
    public JournalSettings(Roll roll, long blockBytes, int maxRecordBytes, long reserveBytes) {
        this(
                roll,
                blockBytes,
                maxRecordBytes,
                reserveBytes,
                FILE_BYTES_DEFAULT,
                Durability.PROCESS,
                SYNC_INTERVAL_DEFAULT);
    }

    /** Returns the default settings. */
    public static JournalSettings defaults() {
        return new JournalSettings(Roll.MINUTELY, BLOCK_BYTES_DEFAULT, MAX_RECORD_BYTES_DEFAULT, RESERVE_BYTES_DEFAULT);
    }

    /** Returns the number of the file with the record at this position. */
    public int cycleOf(long position) {
        return roll.cycleOf(position);
    }

    /** Returns a copy with another reserve. */
    public JournalSettings withReserveBytes(long bytes) {
        return new JournalSettings(roll, blockBytes, maxRecordBytes, bytes, fileBytes, durability, syncInterval);
    }

    /** Returns a copy with another roll cycle. */
    public JournalSettings withRoll(Roll other) {
        return new JournalSettings(
                other, blockBytes, maxRecordBytes, reserveBytes, fileBytes, durability, syncInterval);
    }

    /** Returns a copy with another file size. */
    public JournalSettings withFileBytes(long bytes) {
        return new JournalSettings(roll, blockBytes, maxRecordBytes, reserveBytes, bytes, durability, syncInterval);
    }

    /** Formats the durability as workers publish it: {@code process}, {@code interval 50ms}, {@code each}. */
    public String promise() {
        String name = durability.name().toLowerCase(Locale.ROOT);
        return durability == Durability.INTERVAL ? name + " " + syncInterval.toMillis() + "ms" : name;
    }

    /** Returns a copy with another durability. */
    public JournalSettings withDurability(Durability other) {
        return new JournalSettings(roll, blockBytes, maxRecordBytes, reserveBytes, fileBytes, other, syncInterval);
    }

    /** Returns a copy with another sync interval. */
    public JournalSettings withSyncInterval(Duration other) {
        return new JournalSettings(roll, blockBytes, maxRecordBytes, reserveBytes, fileBytes, durability, other);
    }
}
