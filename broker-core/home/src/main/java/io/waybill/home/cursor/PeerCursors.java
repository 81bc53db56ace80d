package io.waybill.home.cursor;

import io.waybill.home.error.MalformedHomeFileException;
import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Cursors of a peer, mapped read-only. Layout in {@link Cursors}. All values are claims of the peer: check them against
 * what this worker knows.
 *
 * <p>When the peer joins again as another incarnation, open its file again: a damaged one may have been replaced.
 *
 * <p><b>Threads.</b> Thread-safe. <b>Ownership.</b> Nothing to close; the mapping is left to the garbage collector.
 */
public final class PeerCursors {
    private final Path path;
    private final UnsafeBuffer table;
    private final SleepMark sleep;

    private PeerCursors(Path path, UnsafeBuffer table) {
        this.path = path;
        this.table = table;
        this.sleep = new SleepMark(table);
    }

    /** Returns whether the file was cut since it was mapped, which is not checked before each access. */
    public boolean isCut() {
        try {
            return Files.size(path) < CursorLayout.FILE_BYTES;
        } catch (IOException e) {
            return false; // removed: what is mapped is still there
        }
    }

    /**
     * Maps a peer's cursors.
     *
     * @param workerDirectory directory of the peer
     * @param ownerId id of the peer
     * @throws MalformedHomeFileException when the file is cut short or is not the peer's cursors
     * @throws io.waybill.host.UnsafeFileException when it is not a file of ours
     * @throws java.nio.file.NoSuchFileException when it is not there
     */
    public static PeerCursors open(Path workerDirectory, int ownerId, SafeFiles files) throws IOException {
        Path path = workerDirectory.resolve(CursorLayout.FILE);
        try (FileChannel channel = files.openForReading(path, Long.MAX_VALUE)) {
            String damage = Cursors.damageOf(channel, ownerId);
            if (!damage.isEmpty()) {
                throw new MalformedHomeFileException(path + ": " + damage);
            }
            return new PeerCursors(path, Cursors.map(channel, FileChannel.MapMode.READ_ONLY, path));
        }
    }

    /**
     * Returns whether the peer must be woken to see what was appended just now, as {@link io.waybill.home.Doorbell}
     * describes. The method contains the fence, so the check comes after the append.
     */
    public boolean isAsleepAfterFence() {
        return sleep.isAsleepAfterFence();
    }

    /** Returns the peer's epoch, as the last incarnation of its name that took calls wrote it; 0 when none did. */
    public long epoch() {
        return table.getLongVolatile(CursorLayout.EPOCH_AT);
    }

    /**
     * Returns whether the peer's records must be on its disk before they are acted on. Set when its incarnation begins.
     */
    public boolean readersWait() {
        return table.getIntVolatile(CursorLayout.READERS_WAIT_AT) != 0;
    }

    /** Returns the index before which the peer's requests may be acted on. */
    public long requestsReadableBefore() {
        return readableBefore(CursorLayout.REQUESTS_ON_DISK_AT);
    }

    /** Returns the index before which the peer's responses may be acted on. */
    public long responsesReadableBefore() {
        return readableBefore(CursorLayout.RESPONSES_ON_DISK_AT);
    }

    private long readableBefore(int onDiskAt) {
        return readersWait() ? table.getLongVolatile(onDiskAt) : Long.MAX_VALUE;
    }

    /** Returns the planned end of the peer's sleep, on the monotonic clock; 0 when it is awake. */
    public long wakeAtNs() {
        return sleep.wakeAtNs();
    }

    /** Returns the peer's slot for worker {@code ownId}; empty while it has read nothing of it. */
    public Optional<PeerCursorSlot> slotFor(int ownId) {
        for (int i = 0; i < CursorLayout.SLOTS; i++) {
            if (table.getIntVolatile(CursorLayout.directoryEntry(i)) == ownId) {
                PeerCursorSlot slot = new PeerCursorSlot(table, CursorLayout.slotOffset(i), ownId);
                if (slot.isValid()) {
                    return Optional.of(slot);
                }
            }
        }
        return Optional.empty();
    }
}
