package io.waybill.worker;

import io.waybill.home.cursor.CursorSlot;
import java.util.HashMap;
import java.util.Map;
import org.agrona.collections.Long2LongHashMap;

/**
 * Writes down, for each peer, before which place in its requests all for this worker are finished, and behind which place in its own
 * responses the responses to the others stand: so that a later incarnation of this worker need not look further back.
 *
 * <p><b>Threads.</b> The housekeeper, and at the end who closes the worker. What requests are in flight is looked at while they come and go:
 * a place may be told too low, never too high.
 */
final class FinishedPlaces {

    private final Links links;
    private final OpenRequests open;
    private final Parking parking;
    private final Lane responses;
    private final Long2LongHashMap lowest = new Long2LongHashMap(Unserved.NONE);
    private final Map<Integer, Mark> marks = new HashMap<>();

    /** All requests that are read behind a place are answered behind another. */
    private record Mark(long requests, long responses) {}

    FinishedPlaces(Links links, OpenRequests open, Parking parking, Lane responses) {
        this.links = links;
        this.open = open;
        this.parking = parking;
        this.responses = responses;
    }

    /** Looks again. */
    synchronized void update() {
        long responded = responses.lastIndex(); // first: what is read from here on is answered behind it
        PeerLink[] current = links.current();
        if (!findLowest(current)) {
            return;
        }
        for (PeerLink link : current) {
            long place = lowest.get(link.id());
            if (place != Unserved.NONE && link.position().peerId() == link.id()) {
                finishedBefore(link, place, responded);
            }
        }
    }

    private void finishedBefore(PeerLink link, long place, long responded) {
        CursorSlot slot = link.position();
        if (place > slot.requestsFinished()) {
            slot.requestsFinished(place);
        }
        Mark mark = marks.get(link.id());
        if (mark == null || slot.requestsFinished() >= mark.requests()) {
            if (mark != null) {
                slot.responsesFrom(mark.responses());
            }
            if (responded > 0) {
                marks.put(link.id(), new Mark(slot.requestsIndex(), responded));
            }
        }
    }

    /** The lowest place of each peer that is not finished. False when requests changed hands in a way that may hide one. */
    private boolean findLowest(PeerLink[] current) {
        lowest.clear();
        long parkedAgain = parking.parkedAgain();
        for (PeerLink link : current) {
            if (link.requests() != null && link.isRecovered()) {
                lowest.put(link.id(), link.position().requestsIndex()); // before what is in flight: see Inlet
            }
        }
        // A request goes from hand to parking and back, and is always in one of them.
        open.forEach(this::isOpen);
        for (PeerLink link : current) {
            isOpen(link, link.unserved().oldest());
        }
        open.forEach(this::isOpen);
        return parking.parkedAgain() == parkedAgain;
    }

    private void isOpen(PeerLink link, long index) {
        if (index < lowest.get(link.id()) && lowest.containsKey(link.id())) {
            lowest.put(link.id(), index);
        }
    }
}
