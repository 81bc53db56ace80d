package io.waybill.autograd.context;

import io.waybill.api.broker.Broker;
import io.waybill.api.broker.Incarnation;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Ids of workers by the addresses of calls. A name keeps its id as long as the home exists.
 *
 * <p><b>Threads.</b> Any.
 */
public final class WorkerIds {

    /** Stands for a worker that this one does not know yet. */
    public static final int UNKNOWN = -1;

    private static final int MAX_KNOWN = 10_000;

    private final Broker broker;
    private final Map<String, Integer> known = new ConcurrentHashMap<>();

    public WorkerIds(Broker broker) {
        this.broker = broker;
    }

    /** Returns the id of this worker. */
    public int self() {
        return broker.self().worker().id();
    }

    /**
     * Returns the id of a receiver: a name, an address, or an id in decimal; {@link #UNKNOWN} if there is none with
     * this address.
     */
    public int of(String to) {
        Integer id = known.get(to);
        if (id != null) {
            return id;
        }
        int found = find(to);
        if (found != UNKNOWN && known.size() < MAX_KNOWN) {
            known.put(to, found);
        }
        return found;
    }

    private int find(String to) {
        if (broker.self().worker().name().equals(to)) {
            return self();
        }
        for (Incarnation peer : broker.peers()) {
            if (peer.worker().name().equals(to)) {
                return peer.worker().id();
            }
        }
        try {
            return Integer.parseInt(to.startsWith("#") ? to.substring(1) : to);
        } catch (NumberFormatException e) {
            return UNKNOWN;
        }
    }
}
