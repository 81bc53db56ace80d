package io.waybill.worker.serve;

import io.waybill.dispatch.HandlerKey;
import io.waybill.handling.Delivered;
import io.waybill.worker.peer.PeerLink;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Requests whose handler left, in the order of their arrival. They stay in the journal; what is kept here is where.
 *
 * <p>Belongs to the holder of the {@link io.waybill.worker.poll.PollPermit}.
 */
public final class ParkedRequests {

    /** One parked request: which peer's requests, and where. */
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

    /** Whether a request of this id waits. Looks at all of them. */
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

    /** A request that had left comes back, before all others. */
    void putBack(HandlerKey key, Place place) {
        byKey.computeIfAbsent(key, k -> new ArrayDeque<>()).addFirst(place);
        place.link().backlog().unserved().add(place.index());
        size++;
    }

    /** How often a request that had left parking came back, which makes it hard to follow. */
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

    /** The oldest request of a key; null when there is none. */
    Place first(HandlerKey key) {
        ArrayDeque<Place> places = byKey.get(key);
        return places == null ? null : places.peek();
    }

    /** Takes the oldest request of a key. */
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
