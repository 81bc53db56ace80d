package io.waybill.worker.upkeep;

import io.waybill.home.cursor.CursorSlot;
import io.waybill.worker.peer.Links;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.peer.QueueAppender;
import io.waybill.worker.peer.UnservedRequests;
import io.waybill.worker.serve.OpenRequests;
import io.waybill.worker.serve.ParkedRequests;
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
public final class LowWatermarks {

    private final Links links;
    private final OpenRequests open;
    private final ParkedRequests parking;
    private final QueueAppender responses;
    private final Long2LongHashMap lowest = new Long2LongHashMap(UnservedRequests.NONE);
    private final Map<Integer, Mark> marks = new HashMap<>();

    /** All requests that are read behind a place are answered behind another. */
    private record Mark(long requests, long responses) {}

    public LowWatermarks(Links links, OpenRequests open, ParkedRequests parking, QueueAppender responses) {
        this.links = links;
        this.open = open;
        this.parking = parking;
        this.responses = responses;
    }

    /** Looks again. */
    public synchronized void update() {
        long responded = responses.lastIndex(); // first: what is read from here on is answered behind it
        PeerLink[] current = links.current();
        if (!findLowest(current)) {
            return;
        }
        for (PeerLink link : current) {
            long place = lowest.get(link.id());
            if (place != UnservedRequests.NONE && link.reader().position().peerId() == link.id()) {
                finishedBefore(link, place, responded);
            }
        }
    }

    private void finishedBefore(PeerLink link, long place, long responded) {
        CursorSlot slot = link.reader().position();
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
            if (link.reader().readsRequests() && link.backlog().isRecovered()) {
                lowest.put(
                        link.id(),
                        link.reader().position().requestsIndex()); // before what is in flight: see RequestReceiver
            }
        }
        // A request goes from hand to parking and back, and is always in one of them.
        open.forEach(this::isOpen);
        for (PeerLink link : current) {
            isOpen(link, link.backlog().unserved().oldest());
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
