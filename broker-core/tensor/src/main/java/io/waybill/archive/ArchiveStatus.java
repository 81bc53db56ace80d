package io.waybill.archive;

import io.waybill.host.Clock;
import io.waybill.host.NativeFile;
import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.IntToLongFunction;
import java.util.zip.CRC32C;
import org.agrona.BufferUtil;

/**
 * Lag and counts of an archive. Its worker writes them into {@code archive/status} about once a second while something
 * changes. Immutable.
 *
 * {@code docs/reference/archive.md} has its bytes.
 *
 * @param writtenNs wall clock in ns since 1970
 * @param lagMs waiting time of the oldest storage
 * @param archivedStorages since the process began, like all counts
 * @param usedBytes size of all archive files
 * @param dropped counts of storages that were not kept, by reason; reasons that did not occur are absent
 */
public record ArchiveStatus(
        ArchivePolicy policy,
        long writtenNs,
        long waitingStorages,
        long waitingBytes,
        long lagMs,
        long archivedStorages,
        long archivedBytes,
        long usedBytes,
        Map<Omission, Long> dropped) {

    static final int REASONS = 9;
    static final int BYTES = 256;
    private static final String FILE = "status";

    /** Magic number: {@code WAST} as it reads in a file of little-endian numbers. */
    private static final int MAGIC = 0x54534157;

    private static final int MAGIC_AT = 4;
    private static final int POLICY_AT = 8;
    private static final int FIELDS_AT = 16;
    private static final int DROPPED_AT = 72;
    private static final int TRIES = 3;

    public ArchiveStatus {
        dropped = Map.copyOf(dropped);
    }

    /** Counts of an archive since its process began. Thread-safe. */
    static final class Counters {

        private final LongAdder storages = new LongAdder();
        private final LongAdder bytes = new LongAdder();
        private final AtomicLongArray dropped = new AtomicLongArray(REASONS);

        void countArchived(long size) {
            storages.increment();
            bytes.add(size);
        }

        /** Counts a storage that is not kept. Returns the number of earlier ones with this reason. */
        long countDropped(Omission why) {
            return dropped.getAndIncrement(why.code());
        }

        long dropped(Omission why) {
            return dropped.get(why.code());
        }

        ArchiveStatus status(ArchivePolicy policy, Clock clock, Backlog backlog, long usedBytes) {
            long nowNs = clock.monotonicNs();
            return new ArchiveStatus(
                    policy,
                    clock.wallNs(),
                    backlog.count(),
                    backlog.bytes(),
                    TimeUnit.NANOSECONDS.toMillis(nowNs - backlog.oldestSinceNs(nowNs)),
                    storages.sum(),
                    bytes.sum(),
                    usedBytes,
                    byReason(dropped::get));
        }
    }

    private static Map<Omission, Long> byReason(IntToLongFunction counts) {
        Map<Omission, Long> dropped = new EnumMap<>(Omission.class);
        for (int code = 1; code < REASONS; code++) {
            long count = counts.applyAsLong(code);
            if (count > 0) {
                dropped.put(Omission.of(code).orElseThrow(), count);
            }
        }
        return dropped;
    }

    /** Returns the file of a worker. */
    static Path file(Path workerDirectory) {
        return workerDirectory.resolve(ArchiveLayout.DIRECTORY).resolve(FILE);
    }

    /** Returns the number of storages that were not kept, for any reason. */
    public long droppedStorages() {
        long all = 0;
        for (long count : dropped.values()) {
            all += count;
        }
        return all;
    }

    /** Reads the status of a worker; empty when it has archived nothing yet. */
    public static Optional<ArchiveStatus> read(Path workerDirectory, SafeFiles files) throws IOException {
        Path path = file(workerDirectory);
        try (NativeFile file = files.openNative(path, BYTES)) {
            ByteBuffer bytes = buffer();
            for (int i = 0; i < TRIES; i++) { // it may be written while it is read
                if (file.readAt(BufferUtil.address(bytes), BYTES, 0) == BYTES && isWhole(bytes)) {
                    return Optional.of(decode(bytes));
                }
            }
            throw new IOException(path + " is no status of an archive");
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }

    private static ByteBuffer buffer() {
        return BufferUtil.allocateDirectAligned(BYTES, ArchiveLayout.ALIGNMENT).order(ByteOrder.LITTLE_ENDIAN);
    }

    private static boolean isWhole(ByteBuffer bytes) {
        int policy = bytes.get(POLICY_AT);
        return bytes.getInt(MAGIC_AT) == MAGIC
                && bytes.getInt(0) == checksum(bytes)
                && policy >= 0
                && policy < ArchivePolicy.values().length;
    }

    private static int checksum(ByteBuffer bytes) {
        CRC32C checksum = new CRC32C();
        checksum.update(bytes.duplicate().clear().position(MAGIC_AT));
        return (int) checksum.getValue();
    }

    private static ArchiveStatus decode(ByteBuffer bytes) {
        long[] fields = new long[7];
        bytes.duplicate()
                .order(ByteOrder.LITTLE_ENDIAN)
                .position(FIELDS_AT)
                .asLongBuffer()
                .get(fields);
        return new ArchiveStatus(
                ArchivePolicy.values()[bytes.get(POLICY_AT)],
                fields[0],
                fields[1],
                fields[2],
                fields[3],
                fields[4],
                fields[5],
                fields[6],
                byReason(code -> bytes.getLong(DROPPED_AT + Long.BYTES * code)));
    }

    void write(NativeFile file) throws IOException {
        ByteBuffer bytes = buffer();
        bytes.putInt(MAGIC_AT, MAGIC).put(POLICY_AT, (byte) policy.ordinal());
        long[] fields = {writtenNs, waitingStorages, waitingBytes, lagMs, archivedStorages, archivedBytes, usedBytes};
        bytes.duplicate()
                .order(ByteOrder.LITTLE_ENDIAN)
                .position(FIELDS_AT)
                .asLongBuffer()
                .put(fields);
        dropped.forEach((why, count) -> bytes.putLong(DROPPED_AT + 8 * why.code(), count));
        bytes.putInt(0, checksum(bytes));
        file.writeAt(BufferUtil.address(bytes), BYTES, 0);
    }
}
