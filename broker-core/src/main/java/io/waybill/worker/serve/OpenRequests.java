package io.waybill.worker.serve;

import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.poll.HandlerCall;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** What all {@link Exchange} requests that there are have in flight. Thread-safe. */
public final class OpenRequests {

    /** Is told of each request in flight. */
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

    /** Its exchange is used no more. */
    void remove(OpenRequest ended) {
        all.remove(ended);
    }

    /** Whether a request of this id is in flight. For the permit's holder, who gives and takes them. */
    boolean has(long id) {
        for (OpenRequest each : all) {
            if (each.link() != null && each.id() == id) {
                return true;
            }
        }
        return false;
    }

    /** How many are in flight. Exact while no thread polls, since the polling thread begins requests. */
    public int count() {
        int count = 0;
        for (OpenRequest each : all) {
            count += each.link() == null ? 0 : 1;
        }
        return count;
    }

    /** All, in flight or not, while requests come and go. */
    public Iterable<OpenRequest> all() {
        return all;
    }

    /** Sees every request that was taken in flight before and is not finished. */
    public void forEach(Visitor visitor) {
        for (OpenRequest each : all) {
            PeerLink link = each.link();
            if (link != null) {
                visitor.visit(link, each.index());
            }
        }
    }
}
