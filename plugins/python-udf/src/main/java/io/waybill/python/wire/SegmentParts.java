package io.waybill.python.wire;

import io.waybill.api.tensor.FilePart;
import io.waybill.api.tensor.Storage;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Storages in segments that a process maps, each under a number: it reads in place what arrived, and writes there what it sends.
 *
 * <p><b>Threads.</b> Thread-safe. <b>Ownership.</b> Holds one count of each storage until the process releases it or sends a message with it. {@link #close} is called when the memory can be
 * used by no other: the process has ended, or the worker that took part in its name.
 */
public final class SegmentParts implements AutoCloseable {

    /** Smaller storages are copied, which takes less time. */
    public static final int MIN_BYTES = 1 << 20;

    /** Max parts of a process; below the number of leases that a worker has of another one. */
    private static final int MAX = 128;

    private final boolean usable;
    private final Map<Long, Storage> byNumber = new HashMap<>(); // guarded by this
    private long last; // guarded by this
    private boolean closed; // guarded by this

    /** @param usable whether the process can map them; otherwise there are none */
    public SegmentParts(boolean usable) {
        this.usable = usable;
    }

    public boolean areUsable() {
        return usable;
    }

    /**
     * A storage that the process may map.
     *
     * @param number by which it releases it
     */
    record Part(long number, FilePart file) {}

    /** Returns whether a storage is one that the process may map. */
    boolean mayHave(Storage storage) {
        return usable && storage.sizeBytes() >= MIN_BYTES;
    }

    /** Takes one more count of a storage. Empty when it is small or in no file, or the process has enough of them. */
    Optional<Part> add(Storage storage) {
        if (!mayHave(storage)) {
            return Optional.empty();
        }
        Optional<FilePart> file = storage.filePart();
        if (file.isEmpty()) {
            return Optional.empty();
        }
        synchronized (this) {
            if (closed || byNumber.size() >= MAX) {
                return Optional.empty();
            }
            byNumber.put(++last, storage.retain());
            return Optional.of(new Part(last, file.get()));
        }
    }

    /**
     * Returns the storage of a message from the process, which uses it no more.
     *
     * @return the caller's to release
     */
    synchronized Storage take(long number, long size) throws ProtocolException {
        Storage found = get(number, size);
        byNumber.remove(number);
        return found;
    }

    /**
     * Returns the storage of a message from the process, which uses it further.
     *
     * @return the caller's to release
     */
    synchronized Storage share(long number, long size) throws ProtocolException {
        return get(number, size).retain();
    }

    private Storage get(long number, long size) throws ProtocolException {
        Storage found = byNumber.get(number);
        if (found == null || found.sizeBytes() != size) {
            throw new ProtocolException("a storage of " + size + " bytes lies in part " + number
                    + (found == null ? ", which the process does not have" : ", which has " + found.sizeBytes()));
        }
        return found;
    }

    /** Releases storages that the process uses no more. Those of one that has ended were released with it. */
    public void release(long... numbers) throws ProtocolException {
        for (long number : numbers) {
            Storage found;
            synchronized (this) {
                if (closed) {
                    return;
                }
                found = byNumber.remove(number);
            }
            if (found == null) {
                throw new ProtocolException("UNMAP names parts that the process has, and " + number + " is none");
            }
            found.release();
        }
    }

    /** Returns the number of storages that the process may use. */
    public synchronized int size() {
        return byNumber.size();
    }

    /** Releases all. */
    @Override
    public void close() {
        List<Storage> all;
        synchronized (this) {
            closed = true;
            all = new ArrayList<>(byNumber.values());
            byNumber.clear();
        }
        all.forEach(Storage::release);
    }
}
