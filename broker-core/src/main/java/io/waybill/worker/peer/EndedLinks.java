package io.waybill.worker.peer;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

/**
 * Links to incarnations of peers that have ended, until everything that they wrote for this worker is read.
 *
 * <p><b>Threads.</b> Guarded by the lock of {@link Links}.
 */
final class EndedLinks {

    private final List<PeerLink> links = new ArrayList<>();

    void add(PeerLink link) {
        links.add(link);
    }

    List<PeerLink> all() {
        return links;
    }

    /**
     * Ends the reading of responses at this position, where a link to the peer's next incarnation begins.
     *
     * @param responsesIndex 0 when there is no response yet
     */
    void readUntil(int peerId, long responsesIndex) {
        for (PeerLink link : links) {
            if (link.id() == peerId && responsesIndex > 0) {
                link.reader().responsesEnd(responsesIndex);
            }
        }
    }

    boolean isAnySwept() {
        for (PeerLink link : links) {
            if (link.isSwept()) {
                return true;
            }
        }
        return false;
    }

    /** Removes the links that are completely read. By the permit's holder; the caller closes them. */
    List<PeerLink> takeDone() {
        List<PeerLink> done = new ArrayList<>();
        for (Iterator<PeerLink> each = links.iterator(); each.hasNext(); ) {
            PeerLink link = each.next();
            if (link.isDone()) {
                each.remove();
                done.add(link);
            }
        }
        return done;
    }
}
