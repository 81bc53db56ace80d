package io.waybill.worker.serve;

import io.waybill.dispatch.HandlerEntry;
import io.waybill.exchange.HandlerCall;
import io.waybill.worker.peer.PeerLink;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The requests in flight of all exchanges. Thread-safe. */
public final class OpenRequests {

    /** Visitor of the requests in flight. */
    @FunctionalInterface
    public interface Visitor {
        void visit(PeerLink link, long index);
    }

    private final Set<OpenRequest> all = ConcurrentHashMap.newKeySet();

    OpenRequest add(HandlerCall request) {
        OpenRequest added = new OpenRequest(request);
        all.add(added);
        return added;
    }

    /** Removes the slot of an exchange that is not reused. */
    void remove(OpenRequest ended) {
        all.remove(ended);
    }

    /** Returns whether a request with this id is in flight. For the permit's holder, which adds and removes them. */
    boolean has(long id) {
        for (OpenRequest each : all) {
            if (each.link() != null && each.id() == id) {
                return true;
            }
        }
        return false;
    }

    /** Returns the handler of the request with this id; null when none is in flight. For the permit's holder. */
    HandlerEntry handlerOf(long id) {
        for (OpenRequest each : all) {
            if (each.link() != null && each.id() == id) {
                HandlerEntry entry = each.request().entry();
                return each.link() != null && each.id() == id ? entry : null; // it may have ended meanwhile
            }
        }
        return null;
    }

    /**
     * Returns the number of requests in flight. Exact while no thread polls, since the polling thread begins requests.
     */
    public int count() {
        int count = 0;
        for (OpenRequest each : all) {
            count += each.link() == null ? 0 : 1;
        }
        return count;
    }

    /** Returns the number of slots, in flight or not. */
    int slots() {
        return all.size();
    }

    /** Iterates over all slots, in flight or not, during concurrent changes. */
    public Iterable<OpenRequest> all() {
        return all;
    }

    /** Visits every request that was in flight before the call and is not completed. */
    public void forEach(Visitor visitor) {
        for (OpenRequest each : all) {
            PeerLink link = each.link();
            if (link != null) {
                visitor.visit(link, each.index());
            }
        }
    }
}
