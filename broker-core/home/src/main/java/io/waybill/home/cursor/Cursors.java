package io.waybill.home.cursor;

import static io.waybill.home.cursor.CursorLayout.EPOCH_AT;
import static io.waybill.home.cursor.CursorLayout.FILE_BYTES;
import static io.waybill.home.cursor.CursorLayout.FORMAT_AT;
import static io.waybill.home.cursor.CursorLayout.FREE;
import static io.waybill.home.cursor.CursorLayout.HEADER_BYTES;
import static io.waybill.home.cursor.CursorLayout.MAGIC_AT;
import static io.waybill.home.cursor.CursorLayout.NEXT_COUNTER_AT;
import static io.waybill.home.cursor.CursorLayout.OWNER_AT;
import static io.waybill.home.cursor.CursorLayout.READERS_WAIT_AT;
import static io.waybill.home.cursor.CursorLayout.REQUESTS_NOTE_AT;
import static io.waybill.home.cursor.CursorLayout.REQUESTS_ON_DISK_AT;
import static io.waybill.home.cursor.CursorLayout.RESPONSES_NOTE_AT;
import static io.waybill.home.cursor.CursorLayout.RESPONSES_ON_DISK_AT;
import static io.waybill.home.cursor.CursorLayout.SLOTS;
import static io.waybill.home.cursor.CursorLayout.SLOTS_AT;
import static io.waybill.home.cursor.CursorLayout.SLOT_BYTES;

import io.waybill.home.error.HomeException;
import io.waybill.host.Host;
import io.waybill.host.NativeFile;
import io.waybill.host.SafeFiles;
import io.waybill.host.failure.HostFailures;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntPredicate;
import org.agrona.concurrent.UnsafeBuffer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Positions up to which this worker has read each peer and has completed requests: a table in the mapped file
 * {@code cursors}, which the peers map read-only as {@link PeerCursors}. The space of the header, and of each slot from
 * its first use on, is reserved, so no access hits a hole. The layout is in {@code docs/reference/cursors.md}.
 *
 * <p>A peer that leases at most 256 regions at a time to this worker can't miss a release.
 *
 * <p><b>Threads.</b> {@link #slot} is thread-safe; {@link #markAsleep} and {@link #markAwake} belong to the thread that
 * waits. <b>Ownership.</b> Opened and closed by the worker's directory. The mapping itself is left to the garbage
 * collector, so that a late access to a slot does not crash. <b>Errors.</b> A file that was damaged is replaced by a
 * new one, see {@link #origin()}.
 */
public final class Cursors {
    private static final Logger LOG = LoggerFactory.getLogger(Cursors.class);
    /** Value of an unknown position of a queue on the disk. */
    public static final long UNKNOWN = CursorLayout.UNKNOWN;

    private static final String WRITTEN_ASIDE = ".cursors.new";

    /** Origin of the table. */
    public enum Origin {
        /** The file did not exist. */
        NEW,
        /** The previous incarnation left the file. */
        KEPT,
        /** The file was damaged: its content must be recovered from the journals. */
        REPLACED
    }

    private final Path path;
    private final SafeFiles files;
    private final Object key;
    private final UnsafeBuffer table;
    private final SleepMark sleep;
    private final Origin origin;
    private final QueueNote requests;
    private final QueueNote responses;
    private final CursorSlot[] slots = new CursorSlot[SLOTS];

    private Cursors(Path path, SafeFiles files, UnsafeBuffer table, Origin origin) throws IOException {
        this.path = path;
        this.files = files;
        this.key = FileStamp.of(path).key();
        this.table = table;
        this.sleep = new SleepMark(table);
        this.origin = origin;
        this.requests = new QueueNote(table, REQUESTS_NOTE_AT);
        this.responses = new QueueNote(table, RESPONSES_NOTE_AT);
        for (int i = 0; i < SLOTS; i++) {
            slots[i] = new CursorSlot(table, i);
        }
        markAwake();
    }

    public static Cursors openOwn(Path workerDirectory, int ownId, Host host) throws IOException {
        SafeFiles files = host.files();
        Path path = workerDirectory.resolve(CursorLayout.FILE);
        try (FileChannel existing = files.openForReading(path, Long.MAX_VALUE)) {
            String damage = damageOf(existing, ownId);
            if (damage.isEmpty()) {
                return new Cursors(path, files, map(files, path), Origin.KEPT);
            }
            LOG.warn("{}: {}; a new one takes its place", path, damage);
            return new Cursors(path, files, create(files, path, ownId), Origin.REPLACED);
        } catch (NoSuchFileException e) {
            return new Cursors(path, files, create(files, path, ownId), Origin.NEW);
        }
    }

    /** Returns the problem of a file; empty when there is none. */
    static String damageOf(FileChannel channel, int ownerId) throws IOException {
        if (channel.size() != FILE_BYTES) {
            return "expected " + FILE_BYTES + " bytes of cursors, found " + channel.size();
        }
        ByteBuffer header = ByteBuffer.allocate(OWNER_AT + Integer.BYTES).order(ByteOrder.nativeOrder());
        while (header.hasRemaining() && channel.read(header, header.position()) > 0) {
            // until it is full or the file was truncated
        }
        if (header.hasRemaining() || header.getLong(MAGIC_AT) != CursorLayout.MAGIC) {
            return "expected cursors, found something else";
        }
        if (header.getInt(FORMAT_AT) != CursorLayout.FORMAT || header.getInt(SLOTS_AT) != SLOTS) {
            return "has cursors of format " + header.getInt(FORMAT_AT) + " with " + header.getInt(SLOTS_AT)
                    + " slots; this version reads " + CursorLayout.FORMAT + " with " + SLOTS;
        }
        if (header.getInt(OWNER_AT) != ownerId) {
            return "expected the cursors of worker " + ownerId + ", found those of " + header.getInt(OWNER_AT);
        }
        return "";
    }

    /** Writes the file under another name and renames it when it is complete: a peer can only map a complete file. */
    private static UnsafeBuffer create(SafeFiles files, Path path, int ownId) throws IOException {
        Path aside = path.resolveSibling(WRITTEN_ASIDE);
        files.remove(aside);
        try (NativeFile file = files.openOwnNative(aside);
                FileChannel channel = files.channelOf(file)) {
            file.truncate(FILE_BYTES);
            file.reserve(0, HEADER_BYTES);
            UnsafeBuffer table = map(channel, FileChannel.MapMode.READ_WRITE, path);
            table.putLong(MAGIC_AT, CursorLayout.MAGIC);
            table.putInt(FORMAT_AT, CursorLayout.FORMAT);
            table.putInt(SLOTS_AT, SLOTS);
            table.putInt(OWNER_AT, ownId);
            table.putLong(REQUESTS_ON_DISK_AT, UNKNOWN);
            table.putLong(RESPONSES_ON_DISK_AT, UNKNOWN);
            for (int i = 0; i < SLOTS; i++) {
                table.putInt(CursorLayout.directoryEntry(i), FREE);
            }
            files.renameWithin(aside, path);
            return table;
        }
    }

    private static UnsafeBuffer map(SafeFiles files, Path path) throws IOException {
        try (NativeFile file = files.openOwnNative(path);
                FileChannel channel = files.channelOf(file)) {
            file.reserve(0, HEADER_BYTES); // a copied file may have more holes
            UnsafeBuffer table = map(channel, FileChannel.MapMode.READ_WRITE, path);
            for (int i = 0; i < SLOTS; i++) {
                if (table.getInt(CursorLayout.directoryEntry(i)) != FREE) {
                    file.reserve(CursorLayout.slotOffset(i), SLOT_BYTES);
                }
            }
            return table;
        }
    }

    /** Maps a whole file of cursors. */
    static UnsafeBuffer map(FileChannel channel, FileChannel.MapMode mode, Path path) throws IOException {
        try {
            return new UnsafeBuffer(channel.map(mode, 0, FILE_BYTES));
        } catch (IOException e) { // the JDK names neither the file nor the error
            throw new IOException(HostFailures.describe(e) + ": " + FILE_BYTES + " bytes of " + path, e);
        }
    }

    /**
     * Checks whether the file still exists: writes to a removed file are lost.
     *
     * @return the problem; empty when there is none
     */
    public String problem() throws IOException {
        FileStamp found = FileStamp.of(path);
        if (found.equals(FileStamp.MISSING)) {
            return path
                    + " is gone: another process removed or renamed it; restart the worker, which goes on with what is left";
        }
        if (!found.key().equals(key)) {
            return path + " is another file than the one that this worker writes: it was replaced";
        }
        return found.size() < FILE_BYTES
                ? path + " was cut: it has " + found.size() + " bytes and had " + FILE_BYTES
                : "";
    }

    public Origin origin() {
        return origin;
    }

    /**
     * Publishes that the doorbell must be rung from now on. The caller polls all journals once more before it waits.
     *
     * @param wakeAtNs planned end of the sleep, on the monotonic clock
     */
    public void markAsleep(long wakeAtNs) {
        sleep.asleep(wakeAtNs);
    }

    /**
     * Publishes that the doorbell must be rung, in place of a thread that sleeps already, whose planned end of the
     * sleep stays.
     */
    public void markAsleep() {
        sleep.asleep();
    }

    /** Publishes that the doorbell need not be rung while another thread polls in place of the sleeping one. */
    public void markPolled() {
        sleep.polled();
    }

    /** Publishes that the doorbell need not be rung. */
    public void markAwake() {
        sleep.awake();
    }

    /** Returns whether the doorbell must be rung. */
    public boolean isMarkedAsleep() {
        return sleep.isAsleep();
    }

    /** Stops peers from acting on records that are not on the disk. */
    public void holdReaders() {
        table.putIntVolatile(READERS_WAIT_AT, 1);
    }

    /** Lets peers act on records that are not on the disk. */
    public void freeReaders() {
        table.putIntVolatile(READERS_WAIT_AT, 0);
    }

    /** Returns the index before which this worker's requests are on the disk; less than 1 when nothing is known. */
    public long requestsOnDiskBefore() {
        return table.getLongVolatile(REQUESTS_ON_DISK_AT);
    }

    /** Returns the index before which this worker's responses are on the disk. */
    public long responsesOnDiskBefore() {
        return table.getLongVolatile(RESPONSES_ON_DISK_AT);
    }

    /** Publishes that requests before this index are on the disk. Call when they are. */
    public void requestsOnDisk(long before) {
        table.putLongVolatile(REQUESTS_ON_DISK_AT, before);
    }

    /** Publishes that responses before this index are on the disk. Call when they are. */
    public void responsesOnDisk(long before) {
        table.putLongVolatile(RESPONSES_ON_DISK_AT, before);
    }

    /** Returns the extent to which this worker's requests are written. */
    public QueueNote requests() {
        return requests;
    }

    /** Returns the extent to which this worker's responses are written. */
    public QueueNote responses() {
        return responses;
    }

    /** Returns a counter above those of all message ids that were assigned when it was noted; 0 when unknown. */
    public long nextCounter() {
        return table.getLongVolatile(NEXT_COUNTER_AT);
    }

    /** Notes a counter above those of all message ids that were assigned so far. */
    public void nextCounter(long counter) {
        table.putLongVolatile(NEXT_COUNTER_AT, counter);
    }

    /** Returns the last epoch that took calls; 0 when none did. */
    public long epoch() {
        return table.getLongVolatile(EPOCH_AT);
    }

    /** Publishes a new epoch to peers that mapped this file for an earlier incarnation of the owner. */
    public void epoch(long epoch) {
        table.putLongRelease(EPOCH_AT, epoch);
    }

    /** Returns the slot of a peer, claimed when it has none yet. */
    public CursorSlot slot(int peerId) throws HomeException {
        return slot(peerId, id -> false, 0);
    }

    /**
     * Returns the slot of a peer, and claims one when it has none.
     *
     * @param gone whether a peer's slot may be reassigned; called when all are taken
     * @param requestsBegin position in this worker's requests before which none is for a peer that has had no slot; 0
     * when unknown
     */
    public synchronized CursorSlot slot(int peerId, IntPredicate gone, long requestsBegin) throws HomeException {
        int free = -1;
        long begin = requestsBegin;
        for (int i = 0; i < SLOTS; i++) {
            int id = slots[i].peerId();
            if (id == peerId) {
                return slots[i];
            }
            if (id == FREE && free < 0) {
                free = i;
            }
        }
        for (int i = 0; i < SLOTS && free < 0; i++) {
            if (gone.test(slots[i].peerId())) {
                slots[i].free();
                free = i;
                begin = 0; // from now on a peer without a slot may have had one before
            }
        }
        if (free < 0) {
            throw new HomeException("no room for worker " + peerId + " among the " + SLOTS
                    + " peers that this worker talks with: all of them are there; let some leave");
        }
        reserve(free);
        slots[free].claim(peerId, begin);
        return slots[free];
    }

    private void reserve(int slot) throws HomeException {
        try (NativeFile file = files.openExistingNative(path)) {
            file.reserve(CursorLayout.slotOffset(slot), SLOT_BYTES);
        } catch (IOException e) {
            throw new HomeException("no room on the disk for one more peer in " + path + ": " + e.getMessage(), e);
        }
    }

    /** Frees the slot of a peer, if it has one. No link uses the slot. */
    public synchronized void free(int peerId) {
        for (CursorSlot slot : slots) {
            if (slot.peerId() == peerId) {
                slot.free();
            }
        }
    }

    /** Returns all slots that are in use. */
    public synchronized List<CursorSlot> taken() {
        List<CursorSlot> taken = new ArrayList<>();
        for (CursorSlot slot : slots) {
            if (slot.peerId() != FREE) {
                taken.add(slot);
            }
        }
        return taken;
    }

    public void close() {
        markAwake();
    }
}
