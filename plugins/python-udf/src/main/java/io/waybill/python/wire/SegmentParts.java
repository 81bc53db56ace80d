package io.waybill.python.wire;

import io.waybill.api.tensor.FilePart;
import io.waybill.api.tensor.Storage;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Numbered storages in segments that a process maps, to read received tensors in place and to write tensors that it
 * sends.
 *
 * <p><b>Threads.</b> Thread-safe. <b>Ownership.</b> Holds one count of each storage until the process releases it or
 * sends a message with it. {@link #close} is called when no process can use the memory any longer, because the process
 * or its worker has ended.
 */
public final class SegmentParts implements AutoCloseable {

    /** Min size of a mapped storage; smaller ones are copied, which is faster. */
    public static final int MIN_BYTES = 1 << 20;

    /** Max number of parts of a process; below a worker's max number of leases from one peer. */
    private static final int MAX = 128;

    private final boolean usable;
    private final Map<Long, Storage> byNumber = new HashMap<>(); // guarded by this
    private long last; // guarded by this
    private boolean closed; // guarded by this

    /** @param usable whether the process can map parts; otherwise there are none */
    public SegmentParts(boolean usable) {
        this.usable = usable;
    }

    public boolean areUsable() {
        return usable;
    }

    /**
     * A storage that the process may map.
     *
     * @param number number with which the process releases it
     */
    record Part(long number, FilePart file) {}

    /** Returns whether the process may map a storage. */
    boolean mayHave(Storage storage) {
        return usable && storage.sizeBytes() >= MIN_BYTES;
    }

    /**
     * Adds a storage, with an additional count; empty if it is small or in no file, or the process has too many parts.
     */
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
     * Returns the storage of a message from the process, which no longer uses it.
     *
     * @return the storage, which the caller releases
     */
    synchronized Storage take(long number, long size) throws ProtocolException {
        Storage found = get(number, size);
        byNumber.remove(number);
        return found;
    }

    /**
     * Returns the storage of a message from the process, which keeps using it.
     *
     * @return the storage, which the caller releases
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

    /** Releases storages that the process no longer uses. Ignores numbers after the end of the process. */
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

    /** Releases all storages. */
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
