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
 * How far the space of a queue's current file is reserved, and how far its writer may go while a helper fills pages ahead with zeros.
 *
 * <p><b>Threads.</b> {@link #fits} and {@link #enter} belong to the appending thread, {@link #topUp}, {@link #fill} and {@link #touch} to
 * a helper; both may extend.
 */
final class Reservation {

    /** Beside the record, Chronicle may write index pages of up to this size. */
    private static final long SLACK_BYTES = 1 << 20;

    /**
     * Filled at once, in some 0.2 ms. At multiples of it, so that file systems with large folios make it a single one: the thread that
     * meets a
     * page of it then has them all mapped.
     */
    private static final long PIECE_BYTES = 1 << 20;

    /** Behind the last record Chronicle still writes that the file ends. */
    private static final long KEPT_BYTES = 64 << 10;

    /** What was reserved in a file that is left. */
    private record Unused(Path file, long from, long to) {}

    private final DiskSpace disk;
    private final long reserveBytes;
    private final Object extending = new Object();
    private final Deque<Unused> unused = new ArrayDeque<>(); // guarded by extending
    private volatile Path file;
    private volatile long reservedTo;
    /** Up to where the appending thread may write without the lock: behind it the helper may be filling pages with zeros. */
    private volatile long openTo;
    // Written by the appending thread with release, read by the helper.
    private final AtomicLong writtenTo = new AtomicLong();

    Reservation(DiskSpace disk, long reserveBytes) {
        this.disk = disk;
        this.reserveBytes = reserveBytes;
    }

    /** The first file of a writer begins, or is gone on with. */
    void enter(Path newFile, long position) throws JournalFullException {
        synchronized (extending) {
            file = newFile;
            writtenTo.set(position);
            reservedTo = position;
            extend(SLACK_BYTES * 2);
            openTo = position + SLACK_BYTES * 2;
        }
    }

    /**
     * A new file begins, if there is room for one.
     *
     * @return whether there is; when not, nothing is left of the attempt and the file before is gone on with
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
            reservedTo = reserved;
            openTo = SLACK_BYTES * 2;
            return true;
        }
    }

    /** The whole reserve, or as much as a file needs to begin. Returns how much; 0 for nothing. */
    private long reserveFirst(Path newFile) {
        for (long bytes : new long[] {reserveBytes + reserveBytes / 2 + SLACK_BYTES * 2, SLACK_BYTES * 2}) {
            try {
                disk.reserve(newFile, 0, bytes);
                return bytes;
            } catch (IOException e) {
                // less may be had
            }
        }
        return 0;
    }

    /** When nothing was written into the file, it goes: a reader would not get past it. */
    private void leave() {
        if (!removeEmpty(file)) {
            unused.add(new Unused(file, writtenTo.get() + KEPT_BYTES, reservedTo));
        }
    }

    private static boolean removeEmpty(Path file) {
        try {
            boolean empty = !Files.exists(file, LinkOption.NOFOLLOW_LINKS) || Files.size(file) == 0;
            if (empty) {
                Files.deleteIfExists(file);
            }
            return empty;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Makes sure that a record of this length fits behind {@code position}.
     *
     * @throws JournalFullException when it does not and no more can be had
     */
    void fits(long position, long length) throws JournalFullException {
        long needed = position + length + SLACK_BYTES;
        if (needed > openTo) {
            synchronized (extending) {
                if (needed > reservedTo) {
                    extend(length + SLACK_BYTES);
                }
                openTo = Math.max(openTo, Math.min(reservedTo, needed + SLACK_BYTES));
            }
        }
    }

    /** Fills what lies between the writer's reach and {@code position}, the last piece whole, with zeros, if the file is still this one. */
    void fill(Path ofFile, long position) throws IOException {
        while (fillSome(ofFile, position)) {
            // each under the lock for itself: the writer may want to go on
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
     * Brings pages of a file from one position to another into memory, as far as they are reserved, if the file is still this one: where
     * nothing is reserved, or was and is given back, that would take disk space that was not granted.
     *
     * @return up to where it did
     */
    long touch(Path ofFile, long from, long to, Touchable.Pages pages) throws IOException {
        long at = from;
        for (long next = touchSome(ofFile, at, to, pages); next > at; next = touchSome(ofFile, at, to, pages)) {
            at = next; // each under the lock for itself: the writer may want to go on
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

    /** Says how far was written, for the helper to see in its own time. */
    void written(long position) {
        writtenTo.lazySet(position);
    }

    long writtenTo() {
        return writtenTo.get();
    }

    /** Whether half of the reserve is there: below that a worker refuses new work, so that what is in flight can still be answered. */
    boolean isComfortable() {
        return room() >= reserveBytes / 2;
    }

    /** Whether an eighth of the reserve is there: the rest is for responses that say that there is no room. */
    boolean hasRoomForResponses() {
        return room() >= reserveBytes / 8;
    }

    /** What can be written for certain. */
    private long room() {
        return reservedTo - writtenTo.get() - SLACK_BYTES;
    }

    /** Reserves ahead, as far as the disk allows. What files that were left don't need is given back first. */
    void topUp() throws JournalFullException {
        giveBackUnused();
        if (file != null && room() < reserveBytes) {
            synchronized (extending) {
                if (file != null) {
                    extend(reserveBytes + SLACK_BYTES);
                }
            }
        }
    }

    /** The writer has ended: nothing is reserved from here on, and nothing given back. */
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
            if (next.to() > next.from()) {
                disk.giveBack(next.file(), next.from(), next.to() - next.from());
            }
        }
    }

    /** Reserves the whole reserve beyond what is written, or at least {@code neededBytes} of it. */
    private void extend(long neededBytes) throws JournalFullException {
        long from = reservedTo;
        long wanted = writtenTo.get() + Math.max(reserveBytes + SLACK_BYTES, neededBytes) + reserveBytes / 2;
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

    /** Chronicle maps its table and writes: without room on the disk that would be a fault in the mapping. */
    static void reserveTable(Path table, DiskSpace disk) throws JournalFullException {
        try {
            disk.reserve(table, 0, QueueStructure.TABLE_BYTES);
        } catch (IOException e) {
            throw new JournalFullException(
                    "the journal needs " + QueueStructure.TABLE_BYTES + " bytes on its disk for " + table
                            + " and could not reserve them",
                    e);
        }
    }
}
