package io.waybill.worker.upkeep;

import io.waybill.home.cursor.CursorSlot;
import io.waybill.worker.peer.Links;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.peer.UnservedRequests;
import io.waybill.worker.publish.QueueAppender;
import io.waybill.worker.serve.OpenRequests;
import io.waybill.worker.serve.ParkedRequests;
import java.util.HashMap;
import java.util.Map;
import org.agrona.collections.Long2LongHashMap;

/**
 * Publishes one low watermark per peer: every request below it that was addressed to this worker has completed. Also
 * publishes the position in this worker's responses from which the responses to the other requests follow, so that a
 * later incarnation of this worker need not search further back.
 *
 * <p><b>Threads.</b> The housekeeper, and at the end the thread that closes the worker. The requests in flight are read
 * during concurrent changes: a watermark may be too low, never too high.
 */
public final class LowWatermarks {

    private final Links links;
    private final OpenRequests open;
    private final ParkedRequests parking;
    private final QueueAppender responses;
    private final Long2LongHashMap lowest = new Long2LongHashMap(UnservedRequests.NONE);
    private final Map<Integer, Mark> marks = new HashMap<>();

    /** Pair of positions: requests read after the first have their responses after the second. */
    private record Mark(long requests, long responses) {}

    public LowWatermarks(Links links, OpenRequests open, ParkedRequests parking, QueueAppender responses) {
        this.links = links;
        this.open = open;
        this.parking = parking;
        this.responses = responses;
    }

    /** Recomputes the watermarks. */
    public synchronized void update() {
        long responded = responses.lastIndex(); // first: requests read from here on have their responses after it
        PeerLink[] current = links.current();
        if (!findLowest(current)) {
            return;
        }
        for (PeerLink link : current) {
            long location = lowest.get(link.id());
            if (location != UnservedRequests.NONE && link.reader().position().peerId() == link.id()) {
                finishedBefore(link, location, responded);
            }
        }
    }

    private void finishedBefore(PeerLink link, long location, long responded) {
        CursorSlot slot = link.reader().position();
        if (location > slot.requestsCompletedBefore()) {
            slot.requestsCompletedBefore(location);
        }
        Mark mark = marks.get(link.id());
        if (mark == null || slot.requestsCompletedBefore() >= mark.requests()) {
            if (mark != null) {
                slot.responsesFrom(mark.responses());
            }
            if (responded > 0) {
                marks.put(link.id(), new Mark(slot.requestsIndex(), responded));
            }
        }
    }

    /**
     * Finds the lowest incomplete position of each peer. Returns false when a request was moved in a way that may hide
     * it.
     */
    private boolean findLowest(PeerLink[] current) {
        lowest.clear();
        long parkedAgain = parking.parkedAgain();
        for (PeerLink link : current) {
            if (link.reader().readsRequests() && link.backlog().isRecovered()) {
                lowest.put(
                        link.id(),
                        link.reader().position().requestsIndex()); // before the requests in flight: see RequestReceiver
            }
        }
        // A request moves between its handler and parking, and is always in one of them.
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
