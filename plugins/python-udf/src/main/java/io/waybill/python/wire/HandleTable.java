package io.waybill.python.wire;

import io.waybill.api.RRef;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Table of the references for which a process has objects, by handle. Thread-safe. */
public final class HandleTable implements AutoCloseable {

    /** Max handles of a process. */
    static final int MAX = 1_000_000;

    private final Map<Long, RRef> byHandle = new HashMap<>(); // guarded by this
    private long last; // guarded by this
    // Exchanges whose received messages may name handles and are decoded by other threads, in the order of receipt,
    // with their numbers.
    private final Map<Long, Long> undecoded = new LinkedHashMap<>(); // guarded by this
    private long received; // number of the last one; guarded by this
    // Handles that were dropped meanwhile, in order, with the number of the last message received before. Guarded by
    // this.
    private final Map<Long, Long> dropped = new LinkedHashMap<>();
    private boolean closed; // guarded by this

    /** Takes ownership of a reference, and returns its handle. */
    public long add(RRef reference) {
        synchronized (this) {
            if (!closed && byHandle.size() < MAX) {
                byHandle.put(++last, reference);
                return last;
            }
        }
        reference.close();
        throw new IllegalStateException(
                "the process has ended, or holds " + MAX + " references, and at most as many are possible");
    }

    /** Returns a reference, which the process keeps. */
    public synchronized RRef get(long handle) throws ProtocolException {
        RRef found = byHandle.get(handle);
        if (found == null) {
            throw new ProtocolException(
                    "a reference is named by a handle that the process has, and " + handle + " is none");
        }
        return found;
    }

    /**
     * Records the receipt of a message that another thread decodes: handles that are dropped after it stay valid until
     * {@link #decoded}.
     */
    public synchronized void received(long exchange) {
        undecoded.put(exchange, ++received);
    }

    /** Records that a message was decoded, so that its references have other holders. */
    public void decoded(long exchange) {
        List<RRef> free = new ArrayList<>(0);
        synchronized (this) {
            undecoded.remove(exchange);
            long first = undecoded.isEmpty()
                    ? Long.MAX_VALUE
                    : undecoded.values().iterator().next();
            for (Iterator<Map.Entry<Long, Long>> each = dropped.entrySet().iterator(); each.hasNext(); ) {
                Map.Entry<Long, Long> drop = each.next();
                if (drop.getValue() >= first) {
                    break;
                }
                free.add(byHandle.remove(drop.getKey()));
                each.remove();
            }
        }
        free.forEach(RRef::close);
    }

    /** Closes references for which the process no longer has an object. */
    public void drop(long... handles) throws ProtocolException {
        for (long handle : handles) {
            RRef free = null;
            boolean isThere;
            synchronized (this) {
                if (undecoded.isEmpty()) {
                    free = byHandle.remove(handle);
                    isThere = free != null;
                } else {
                    isThere = byHandle.containsKey(handle) && dropped.putIfAbsent(handle, received) == null;
                }
            }
            if (!isThere) {
                throw new ProtocolException("DROP names handles that the process has, and " + handle + " is none");
            }
            if (free != null) {
                free.close();
            }
        }
    }

    /** Returns the number of handles. */
    public synchronized int size() {
        return byHandle.size();
    }

    /** Closes all references. */
    @Override
    public void close() {
        List<RRef> all;
        synchronized (this) {
            closed = true;
            all = new ArrayList<>(byHandle.values());
            byHandle.clear();
            dropped.clear();
        }
        all.forEach(RRef::close);
    }
}
