package io.waybill.worker.serve;

import io.waybill.dispatch.HandlerKey;
import io.waybill.handling.Delivered;
import io.waybill.worker.metrics.OperationCounts;
import io.waybill.worker.peer.PeerLink;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Parked requests, whose handler was removed, in order of arrival. They stay in the journal; this object holds their
 * positions.
 *
 * <p>Belongs to the holder of the {@link io.waybill.worker.poll.PollPermit}.
 */
public final class ParkedRequests {

    /** Position of one parked request. */
    record Parked(PeerLink link, long index, long id, long sinceNs, Delivered delivered, OperationCounts counts) {}

    private final Map<HandlerKey, ArrayDeque<Parked>> byKey = new HashMap<>();
    private int size;
    // Written by the permit's holder, read by the housekeeper.
    private volatile long parkedAgain;

    boolean isEmpty() {
        return size == 0;
    }

    int size() {
        return size;
    }

    boolean has(HandlerKey key) {
        return byKey.containsKey(key);
    }

    /** Returns whether a request with this id waits. Searches all of them. */
    boolean hasId(long id) {
        for (ArrayDeque<Parked> parkedRequests : byKey.values()) {
            for (Parked parkedRequest : parkedRequests) {
                if (parkedRequest.id() == id) {
                    return true;
                }
            }
        }
        return false;
    }

    void add(HandlerKey key, Parked parkedRequest) {
        byKey.computeIfAbsent(key, k -> new ArrayDeque<>()).add(parkedRequest);
        parkedRequest.link().backlog().unserved().add(parkedRequest.index());
        size++;
    }

    /** Parks a request that had left again, ahead of all others. */
    void putBack(HandlerKey key, Parked parkedRequest) {
        byKey.computeIfAbsent(key, k -> new ArrayDeque<>()).addFirst(parkedRequest);
        parkedRequest.link().backlog().unserved().add(parkedRequest.index());
        size++;
    }

    /**
     * Returns the number of times that a request that had left was parked again; a reader that sees it change must
     * retry.
     */
    public long parkedAgain() {
        return parkedAgain;
    }

    @SuppressWarnings("NonAtomicOperationOnVolatileField") // one thread writes
    void countParkedAgain() {
        parkedAgain++;
    }

    Iterable<HandlerKey> keys() {
        return List.copyOf(byKey.keySet());
    }

    /** Returns the oldest request of a key; null when there is none. */
    Parked first(HandlerKey key) {
        ArrayDeque<Parked> parkedRequests = byKey.get(key);
        return parkedRequests == null ? null : parkedRequests.peek();
    }

    /** Removes the oldest request of a key. */
    void removeFirst(HandlerKey key) {
        ArrayDeque<Parked> parkedRequests = byKey.get(key);
        Parked left = parkedRequests.remove();
        left.link().backlog().unserved().remove(left.index());
        size--;
        if (parkedRequests.isEmpty()) {
            byKey.remove(key);
        }
    }
}
