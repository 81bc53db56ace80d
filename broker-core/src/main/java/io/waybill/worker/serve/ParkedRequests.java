package io.waybill.worker.serve;

import io.waybill.dispatch.HandlerKey;
import io.waybill.handling.Delivered;
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
    record Place(PeerLink link, long index, long id, long sinceNs, Delivered delivered) {}

    private final Map<HandlerKey, ArrayDeque<Place>> byKey = new HashMap<>();
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
        for (ArrayDeque<Place> places : byKey.values()) {
            for (Place place : places) {
                if (place.id() == id) {
                    return true;
                }
            }
        }
        return false;
    }

    void add(HandlerKey key, Place place) {
        byKey.computeIfAbsent(key, k -> new ArrayDeque<>()).add(place);
        place.link().backlog().unserved().add(place.index());
        size++;
    }

    /** Parks a request that had left again, ahead of all others. */
    void putBack(HandlerKey key, Place place) {
        byKey.computeIfAbsent(key, k -> new ArrayDeque<>()).addFirst(place);
        place.link().backlog().unserved().add(place.index());
        size++;
    }

    /** Returns how often a request that had left was parked again; a reader that sees it change must retry. */
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
    Place first(HandlerKey key) {
        ArrayDeque<Place> places = byKey.get(key);
        return places == null ? null : places.peek();
    }

    /** Removes the oldest request of a key. */
    void removeFirst(HandlerKey key) {
        ArrayDeque<Place> places = byKey.get(key);
        Place left = places.remove();
        left.link().backlog().unserved().remove(left.index());
        size--;
        if (places.isEmpty()) {
            byKey.remove(key);
        }
    }
}
