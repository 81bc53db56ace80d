package io.waybill.worker;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** What all {@link Inbound} requests that there are have in hand. Thread-safe. */
final class OpenRequests {

    /** Is told of each request in hand. */
    @FunctionalInterface
    interface Visitor {
        void visit(PeerLink link, long index);
    }

    private final Set<OpenRequest> all = ConcurrentHashMap.newKeySet();

    OpenRequest add() {
        OpenRequest added = new OpenRequest();
        all.add(added);
        return added;
    }

    /** Its inbound is used no more. */
    void remove(OpenRequest ended) {
        all.remove(ended);
    }

    /** Whether a request of this id is in hand. For the permit's holder, who gives and takes them. */
    boolean has(long id) {
        for (OpenRequest each : all) {
            if (each.link() != null && each.id() == id) {
                return true;
            }
        }
        return false;
    }

    /** Sees every request that was taken in hand before and is not finished. */
    void forEach(Visitor visitor) {
        for (OpenRequest each : all) {
            PeerLink link = each.link();
            if (link != null) {
                visitor.visit(link, each.index());
            }
        }
    }
}
