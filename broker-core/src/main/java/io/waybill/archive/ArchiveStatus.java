package io.waybill.archive;

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
import java.util.zip.CRC32C;
import org.agrona.BufferUtil;

/**
 * How far an archive is behind. Its worker writes it into {@code archive/status} about once a second while something changes. Immutable.
 *
 * <pre>
 * offset size field, little-endian
 *   0     4   checksum     CRC-32C of the other 252 bytes
 *   4     4   magic        the letters {@code WAST}
 *   8     1   policy       0 none, 1 all, 2 up-to
 *   9     7   reserved     0
 *  16     8   written      wall clock in ns since 1970
 *  24     8   waiting      storages
 *  32     8   waiting      bytes
 *  40     8   lag          how long the oldest of them waits, in ms
 *  48     8   archived     storages, since the worker's process began
 *  56     8   archived     bytes
 *  64     8   used         bytes of all archive files
 *  72    64   not kept     storages, by the number of their {@link Omission}, from 0 to 7
 * 136   120   reserved     0
 * </pre>
 *
 * @param writtenNs wall clock in ns since 1970
 * @param lagMs how long the oldest storage waits
 * @param archivedStorages since the process began, like all counts
 * @param usedBytes of all archive files
 * @param dropped storages that were not kept, by reason; reasons that did not occur are not there
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

    static final int REASONS = 8;
    static final int BYTES = 256;
    static final String FILE = "status";

    /** {@code WAST} as it reads in a file of little-endian numbers. */
    private static final int MAGIC = 0x54534157;

    private static final int MAGIC_AT = 4;
    private static final int POLICY_AT = 8;
    private static final int FIELDS_AT = 16;
    private static final int DROPPED_AT = 72;
    private static final int TRIES = 3;

    public ArchiveStatus {
        dropped = Map.copyOf(dropped);
    }

    /** Storages that were not kept, for whatever reason. */
    public long droppedStorages() {
        return dropped.values().stream().mapToLong(Long::longValue).sum();
    }

    /** What a worker shows; empty when it has archived nothing yet. */
    public static Optional<ArchiveStatus> read(Path workerDirectory, SafeFiles files) throws IOException {
        Path path = workerDirectory.resolve(ArchiveLayout.DIRECTORY).resolve(FILE);
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
        Map<Omission, Long> dropped = new EnumMap<>(Omission.class);
        for (int code = 1; code < REASONS; code++) {
            long count = bytes.getLong(DROPPED_AT + 8 * code);
            if (count > 0) {
                dropped.put(Omission.of(code).orElseThrow(), count);
            }
        }
        int at = FIELDS_AT;
        return new ArchiveStatus(
                ArchivePolicy.values()[bytes.get(POLICY_AT)],
                bytes.getLong(at),
                bytes.getLong(at + 8),
                bytes.getLong(at + 16),
                bytes.getLong(at + 24),
                bytes.getLong(at + 32),
                bytes.getLong(at + 40),
                bytes.getLong(at + 48),
                dropped);
    }

    void write(NativeFile file) throws IOException {
        ByteBuffer bytes = buffer();
        bytes.putInt(MAGIC_AT, MAGIC).put(POLICY_AT, (byte) policy.ordinal());
        long[] fields = {writtenNs, waitingStorages, waitingBytes, lagMs, archivedStorages, archivedBytes, usedBytes};
        for (int i = 0; i < fields.length; i++) {
            bytes.putLong(FIELDS_AT + 8 * i, fields[i]);
        }
        dropped.forEach((why, count) -> bytes.putLong(DROPPED_AT + 8 * why.code(), count));
        bytes.putInt(0, checksum(bytes));
        file.writeAt(BufferUtil.address(bytes), BYTES, 0);
    }
}
