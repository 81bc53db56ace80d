package io.waybill.archive;

import io.waybill.tensor.segment.LeasedBytes;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Storage that waits to be archived, or the note that it will not be.
 *
 * <p><b>Threads.</b> Thread-safe. The region is released by the archive's thread when it has copied the bytes, or
 * earlier by the thread that needs the memory.
 */
final class WaitingStorage {

    private static final int WAITING = 0;
    private static final int READING = 1;
    private static final int COPIED = 2;
    /** State of a dropped storage, to which the omission's number is added. */
    private static final int GIVEN_UP = 16;

    final QueueArchive queue;
    final Path file;
    final long sequence;
    final long id;
    final int storage;
    final long size;
    final long sinceNs; // monotonic clock
    final LeasedBytes bytes;
    private final AtomicInteger state = new AtomicInteger(WAITING);

    WaitingStorage(
            QueueArchive queue, Path file, long sequence, long id, int storage, LeasedBytes bytes, long sinceNs) {
        this.queue = queue;
        this.file = file;
        this.sequence = sequence;
        this.id = id;
        this.storage = storage;
        this.size = bytes.size();
        this.bytes = bytes;
        this.sinceNs = sinceNs;
    }

    /** Reserves the bytes for reading; false when the storage was dropped. */
    boolean begin() {
        return state.compareAndSet(WAITING, READING);
    }

    /** Ends the reading. Returns false when the storage was dropped meanwhile: the bytes may be overwritten. */
    boolean end() {
        if (!state.compareAndSet(READING, COPIED)) {
            return false;
        }
        bytes.letGo();
        return true;
    }

    /** Drops the storage. Returns false when that was done already, or its bytes were copied. */
    boolean giveUp(Omission why) {
        int seen;
        do {
            seen = state.get();
            if (seen != WAITING && seen != READING) {
                return false;
            }
        } while (!state.compareAndSet(seen, GIVEN_UP + why.code()));
        bytes.letGo();
        return true;
    }

    /** Returns why the storage was dropped; null when it was not. */
    Omission omission() {
        int seen = state.get();
        return seen < GIVEN_UP ? null : Omission.of(seen - GIVEN_UP).orElseThrow();
    }
}
