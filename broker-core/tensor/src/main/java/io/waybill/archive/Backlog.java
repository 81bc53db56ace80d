package io.waybill.archive;

import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * Queue of storages that wait to be archived, in the order of sending. Bounded in bytes and in number.
 *
 * <p><b>Threads.</b> Thread-safe.
 */
final class Backlog {

    /** Max number of waiting storages and notes; beyond it, omissions are only noted in a gap. */
    private static final int MAX_WAITING = 16_384;

    /** Group of storages whose omissions could not be written one by one. For one thread at a time. */
    static final class Gap {

        final QueueArchive queue;
        final Path file;
        final Omission why;
        long first;
        long last;
        long storages;

        Gap(QueueArchive queue, Path file, long sequence, Omission why) {
            this.queue = queue;
            this.file = file;
            this.why = why;
            this.first = sequence;
            this.last = sequence;
            this.storages = 1;
        }

        /** Adds one more storage of the same file with the same reason; false when it differs. */
        boolean take(Path itsFile, long sequence, Omission itsReason) {
            if (!file.equals(itsFile) || why != itsReason) {
                return false;
            }
            first = Math.min(first, sequence);
            last = Math.max(last, sequence);
            storages++;
            return true;
        }
    }

    private final ArrayDeque<WaitingStorage> waiting = new ArrayDeque<>();
    private final List<Gap> spilled = new ArrayList<>(1);
    private static final double NS_PER_S = 1e9;

    private final long maxBytes;
    private final long bytesPerSecond; // 0: no limit
    private final double maxAllowance; // after a rest
    private double allowance; // bytes that may be archived at allowedAtNs; negative after a large storage
    private long allowedAtNs;
    private long bytes; // of storages that are not dropped, with the one that is being copied
    private long sentBytes;
    private WaitingStorage current;
    private int unwritten; // notes

    /**
     * Creates a queue.
     *
     * @param bytesPerSecond max rate; after a rest as many bytes as may wait, or one second's, may come at once; 0 for
     * no limit
     */
    Backlog(long maxBytes, long bytesPerSecond, long nowNs) {
        this.maxBytes = maxBytes;
        this.bytesPerSecond = bytesPerSecond;
        this.maxAllowance = Math.max(maxBytes, bytesPerSecond);
        this.allowance = maxAllowance;
        this.allowedAtNs = nowNs;
    }

    /** Returns whether a storage exceeds the rate; otherwise it counts. */
    synchronized boolean exceedsRate(WaitingStorage storage) {
        if (bytesPerSecond == 0) {
            return false;
        }
        long passedNs = Math.max(0, storage.sinceNs - allowedAtNs); // two threads may come in another order
        allowance = Math.min(maxAllowance, allowance + passedNs / NS_PER_S * bytesPerSecond);
        allowedAtNs += passedNs;
        if (allowance < Math.min(storage.size, maxAllowance)) {
            return true;
        }
        allowance -= storage.size;
        return false;
    }

    /** Returns whether the max number of bytes or of storages waits. */
    synchronized boolean isFull() {
        return bytes >= maxBytes || waiting.size() >= MAX_WAITING;
    }

    /** Returns whether a storage must be dropped because too much waits. */
    synchronized boolean overflows(long size) {
        return bytes > 0 && bytes + size > maxBytes || waiting.size() >= MAX_WAITING;
    }

    synchronized void add(WaitingStorage storage) {
        Omission omission = storage.omission();
        boolean isNote = omission != null;
        sentBytes += isNote && omission != Omission.OVERFLOW ? 0 : storage.size;
        if (isNote && waiting.size() >= MAX_WAITING) {
            spill(storage, omission);
            return;
        }
        bytes += isNote ? 0 : storage.size;
        waiting.add(storage);
    }

    private void spill(WaitingStorage note, Omission why) {
        if (spilled.stream().noneMatch(gap -> gap.take(note.file, note.sequence, why))) {
            spilled.add(new Gap(note.queue, note.file, note.sequence, why));
        }
    }

    /** Returns the bytes of all storages that were added, and of storages dropped only because too many waited. */
    synchronized long sentBytes() {
        return sentBytes;
    }

    /** Returns the next storage, or null. It counts as waiting until {@link #done}. */
    synchronized WaitingStorage next() {
        current = waiting.poll();
        return current;
    }

    /** Ends the storage that {@link #next} returned, archived or not; this number of notes still count as waiting. */
    synchronized void done(int unwrittenNotes) {
        unwritten = unwrittenNotes;
        current = null;
    }

    /** Notes that all notes are written. */
    synchronized void written() {
        unwritten = 0;
    }

    /** Subtracts bytes that no longer wait. */
    synchronized void freed(long size) {
        bytes -= size;
    }

    /** Returns all storages whose bytes wait or are being copied. */
    synchronized List<WaitingStorage> all() {
        List<WaitingStorage> all = new ArrayList<>(waiting);
        if (current != null) {
            all.add(current);
        }
        return all;
    }

    /** Returns the omissions that were merged into gaps, and passes them to the caller. */
    synchronized List<Gap> takeSpilled() {
        List<Gap> taken = List.copyOf(spilled);
        spilled.clear();
        return taken;
    }

    synchronized long bytes() {
        return bytes;
    }

    /** Returns the number of storages that are not archived, and of unwritten notes of others. */
    synchronized int count() {
        return waiting.size() + (current == null ? 0 : 1) + unwritten;
    }

    /** Returns the time since which the oldest storage waits, on the monotonic clock; {@code nowNs} when none does. */
    synchronized long oldestSinceNs(long nowNs) {
        WaitingStorage oldest = current != null ? current : waiting.peek();
        return oldest == null ? nowNs : oldest.sinceNs;
    }
}
