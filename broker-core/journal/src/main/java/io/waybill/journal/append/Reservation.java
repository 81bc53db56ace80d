package io.waybill.journal.append;

import io.waybill.journal.DiskSpace;
import io.waybill.journal.JournalFullException;
import io.waybill.journal.format.QueueStructure;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Reserved space of a queue's current file, and the limit up to which its writer may go while a background thread fills
 * pages ahead with zeros.
 *
 * <p>The reserve begins small, grows with the rate of writing up to its max, and becomes small again after a rest:
 * ADR 95.
 *
 * <p><b>Threads.</b> {@link #fits} and {@link #enter} belong to the appending thread, {@link #topUp}, {@link #fill} and
 * {@link #touch} to a background thread; both may extend.
 */
final class Reservation {

    /** Initial size of the reserve. */
    static final long FIRST_BYTES = 1 << 20;

    /**
     * Number of intervals of the background thread for whose writes the reserve has room: some 0.6 s while calls are
     * made.
     */
    private static final int LOOKS_AHEAD = 32;

    /** Distance by which the writer moves its limit by itself. */
    private static final long STEP_BYTES = 1 << 20;

    /**
     * Size of a range that is filled at once, in some 0.2 ms. Ranges begin at multiples of it, so that file systems
     * with large folios make each a single one: the thread that touches a page of it then has all of them mapped.
     */
    private static final long PIECE_BYTES = 1 << 20;

    /** Unused reserved range of a file that was left. */
    private record Unused(Path file, long from, long to) {}

    private final DiskSpace disk;
    private final long maxReserveBytes;
    private final long firstReserveBytes;
    /** Max size that Chronicle may write in addition to the record: index pages, and the end mark of a file. */
    private final long slackBytes;

    private final Object extending = new Object();
    private final Deque<Unused> unused = new ArrayDeque<>(); // guarded by extending
    private volatile long reserveBytes; // written under extending
    private long writtenAtLook; // guarded by extending
    private volatile Path file;
    private volatile long reservedTo;
    /**
     * Position up to which the appending thread may write without the lock: after it the background thread may be
     * filling pages with zeros.
     */
    private volatile long openTo;
    // Written by the appending thread with release, read by the helper.
    private final AtomicLong writtenTo = new AtomicLong();

    /**
     * Creates a reservation.
     *
     * @param maxReserveBytes size up to which the reserve grows
     * @param slackBytes size that Chronicle may write in addition to a record
     */
    Reservation(DiskSpace disk, long maxReserveBytes, long slackBytes) {
        this.disk = disk;
        this.maxReserveBytes = maxReserveBytes;
        this.firstReserveBytes = Math.min(FIRST_BYTES, maxReserveBytes);
        this.reserveBytes = firstReserveBytes;
        this.slackBytes = slackBytes;
    }

    /** Begins or continues the first file of a writer. */
    void enter(Path newFile, long position) throws JournalFullException {
        synchronized (extending) {
            file = newFile;
            writtenTo.set(position);
            writtenAtLook = position;
            reservedTo = position;
            reserveBegin(Math.min(position, slackBytes));
            extend(slackBytes * 2);
            openTo = Math.min(reservedTo, position + STEP_BYTES * 2);
        }
    }

    /** Reserves where {@link #giveBackAll} of an earlier writer may have left holes. */
    private void reserveBegin(long bytes) throws JournalFullException {
        try {
            if (bytes > 0) {
                disk.reserve(file, 0, bytes);
            }
        } catch (IOException e) {
            throw new JournalFullException(text(bytes, e), e);
        }
    }

    /**
     * Begins a new file, if there is room for one.
     *
     * @return whether there is room; if not, nothing is left of the attempt and the previous file is continued
     */
    boolean tryEnter(Path newFile) {
        synchronized (extending) {
            long reserved = reserveFirst(newFile);
            if (reserved == 0) {
                removeEmpty(newFile);
                return false;
            }
            leave();
            file = newFile;
            writtenTo.set(0);
            writtenAtLook = 0;
            reservedTo = reserved;
            openTo = Math.min(reserved, STEP_BYTES * 2);
            return true;
        }
    }

    /** Reserves the whole reserve, or the space that a file needs to begin. Returns its size; 0 for nothing. */
    private long reserveFirst(Path newFile) {
        for (long bytes : new long[] {reserveBytes + reserveBytes / 2 + slackBytes * 2, slackBytes * 2}) {
            try {
                disk.reserve(newFile, 0, bytes);
                return bytes;
            } catch (IOException e) {
                // less may be available
            }
        }
        return 0;
    }

    /** Leaves the file; removes it when nothing was written to it, because a reader would not pass it. */
    private void leave() {
        if (!removeEmpty(file)) {
            unused.add(new Unused(file, writtenTo.get() + slackBytes, reservedTo));
        }
    }

    private boolean removeEmpty(Path file) {
        try {
            boolean empty = !Files.exists(file, LinkOption.NOFOLLOW_LINKS) || Files.size(file) == 0;
            if (empty) {
                disk.remove(file);
            }
            return empty;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Ensures that a record of this length fits after {@code position}.
     *
     * @throws JournalFullException when it does not and no more space can be reserved
     */
    void fits(long position, long length) throws JournalFullException {
        long needed = position + length + slackBytes;
        if (needed > openTo) {
            synchronized (extending) {
                if (needed > reservedTo) {
                    growTo(2 * reserveBytes);
                    extend(length + slackBytes);
                }
                openTo = Math.max(openTo, Math.min(reservedTo, needed + STEP_BYTES));
            }
        }
    }

    /**
     * Fills the range between the writer's limit and {@code position}, rounded up to a piece, with zeros, if the file
     * is still the current one.
     */
    void fill(Path ofFile, long position) throws IOException {
        while (fillSome(ofFile, position)) {
            // each under a lock of its own: the writer may need it
        }
    }

    private boolean fillSome(Path ofFile, long position) throws IOException {
        synchronized (extending) {
            long from = openTo;
            long to = Math.min(reservedTo, (from / PIECE_BYTES + 1) * PIECE_BYTES);
            if (from >= Math.min(position, reservedTo) || !ofFile.equals(file)) {
                return false;
            }
            disk.fill(file, from, to - from);
            openTo = to;
            return true;
        }
    }

    /**
     * Loads pages of a file between two positions into memory, as far as they are reserved, if the file is still the
     * current one: outside of the reservation this would take disk space that was not granted.
     *
     * @return the position that was reached
     */
    long touch(Path ofFile, long from, long to, Touchable.Pages pages) throws IOException {
        long at = from;
        for (long next = touchSome(ofFile, at, to, pages); next > at; next = touchSome(ofFile, at, to, pages)) {
            at = next; // each under a lock of its own: the writer may need it
        }
        return at;
    }

    private long touchSome(Path ofFile, long from, long to, Touchable.Pages pages) throws IOException {
        synchronized (extending) {
            long end = Math.min(Math.min(to, reservedTo), (from / PIECE_BYTES + 1) * PIECE_BYTES);
            if (from >= end || !ofFile.equals(file)) {
                return from;
            }
            pages.touch(from, end);
            return end;
        }
    }

    /** Publishes the written position to the background thread, with a delay. */
    void written(long position) {
        writtenTo.lazySet(position);
    }

    long writtenTo() {
        return writtenTo.get();
    }

    /**
     * Returns whether half of the reserve is left: below that a worker rejects new requests, so that those in flight
     * can still be completed.
     */
    boolean isComfortable() {
        return room() >= reserveBytes / 2;
    }

    /** Returns whether an eighth of the reserve is there: the rest is for responses that report a full journal. */
    boolean hasRoomForResponses() {
        return room() >= reserveBytes / 8;
    }

    /** Returns the space that is certainly writable. */
    private long room() {
        return reservedTo - writtenTo.get() - slackBytes;
    }

    /** Reserves ahead, as far as the disk allows. The unused space of files that were left is released first. */
    void topUp() throws JournalFullException {
        giveBackUnused();
        synchronized (extending) {
            if (file != null) {
                long written = writtenTo.get();
                growTo(LOOKS_AHEAD * (written - writtenAtLook));
                writtenAtLook = written;
                if (room() < reserveBytes) {
                    extendAhead();
                }
            }
        }
    }

    /** Extends by the reserve, or by a smaller size for which the disk has room. */
    private void extendAhead() throws JournalFullException {
        while (room() < reserveBytes) {
            try {
                extend(reserveBytes + slackBytes);
            } catch (JournalFullException e) {
                if (reserveBytes == firstReserveBytes) {
                    throw e;
                }
                reserveBytes = Math.max(firstReserveBytes, reserveBytes / 2);
            }
        }
    }

    private void growTo(long bytes) {
        reserveBytes = Math.max(reserveBytes, Math.min(maxReserveBytes, bytes));
    }

    /** Reduces the reserve to its initial size, and releases the rest. Call while no record can be appended. */
    void shrink() {
        synchronized (extending) {
            if (file == null) {
                return;
            }
            reserveBytes = firstReserveBytes;
            long to = Math.min(reservedTo, writtenTo.get() + reserveBytes + reserveBytes / 2 + slackBytes);
            openTo = Math.min(openTo, to);
            giveBack(file, to, reservedTo);
            reservedTo = to;
        }
    }

    /**
     * Releases all space that was not written: the writer has ended, and the worker still has exclusive use of its
     * files.
     */
    void giveBackAll() {
        giveBackUnused();
        synchronized (extending) {
            if (file != null) {
                long behind = writtenTo.get() + slackBytes; // Chronicle may have written after the last record
                giveBack(file, behind, reservedTo);
                disk.giveBackZeros(file, writtenTo.get(), slackBytes);
                disk.giveBackZeros(file, 0, slackBytes);
                disk.giveBackZeros(file.resolveSibling(QueueStructure.TABLE), 0, QueueStructure.TABLE_BYTES);
                close();
            }
        }
    }

    /** Ends the reservation after the writer: no space is reserved or released from here on. */
    void close() {
        synchronized (extending) {
            file = null;
            unused.clear();
        }
    }

    private void giveBackUnused() {
        while (true) {
            Unused next;
            synchronized (extending) {
                next = unused.poll();
            }
            if (next == null) {
                return;
            }
            giveBack(next.file(), next.from(), next.to());
        }
    }

    private void giveBack(Path ofFile, long from, long to) {
        if (to > from) {
            disk.giveBack(ofFile, from, to - from);
        }
    }

    /** Extends the reservation by the whole reserve beyond the written position, or at least {@code neededBytes}. */
    private void extend(long neededBytes) throws JournalFullException {
        long from = reservedTo;
        long wanted = writtenTo.get() + Math.max(reserveBytes + slackBytes, neededBytes) + reserveBytes / 2;
        if (wanted <= from) {
            return;
        }
        try {
            disk.reserve(file, from, wanted - from);
            reservedTo = wanted;
        } catch (IOException e) {
            long least = writtenTo.get() + neededBytes;
            if (least <= from) {
                throw new JournalFullException(text(wanted - from, e), e);
            }
            try {
                disk.reserve(file, from, least - from);
                reservedTo = least;
            } catch (IOException again) {
                throw new JournalFullException(text(least - from, again), again);
            }
        }
    }

    private String text(long bytes, IOException why) {
        return "the journal needs " + bytes + " more bytes on its disk and could not reserve them, in " + file + ": "
                + why.getMessage();
    }

    /**
     * Reserves the space of Chronicle's table, which Chronicle maps and writes: without room on the disk that would be
     * a fault in the mapping.
     */
    static void reserveTable(Path table, DiskSpace disk) throws JournalFullException {
        try {
            disk.reserve(table, 0, QueueStructure.TABLE_BYTES);
        } catch (IOException e) {
            throw new JournalFullException(
                    "the journal needs " + QueueStructure.TABLE_BYTES + " bytes on its disk for " + table
                            + " and could not reserve them: " + e.getMessage(),
                    e);
        }
    }
}
