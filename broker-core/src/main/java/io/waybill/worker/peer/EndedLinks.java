package io.waybill.worker.peer;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

/**
 * The links to lives of peers that are over, until all that is to be read of them is read.
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
     * A link to the next incarnation of a peer reads the responses from this position on.
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

    /** Takes out those of which nothing more is read. For the permit's holder; the links are the caller's to close. */
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
