package io.waybill.home;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Workers of a home at one time, by id: all that ever joined, or those that have not left. Immutable. */
public final class Members {
    static final Members NONE = new Members(List.of());

    private final List<Peer> all;
    private final Map<Integer, Peer> byId = new HashMap<>();
    private final Map<String, Peer> byName = new HashMap<>();

    Members(List<Peer> all) {
        this.all = List.copyOf(all);
        for (Peer peer : all) {
            byId.put(peer.id(), peer);
            byName.put(peer.name(), peer);
        }
    }

    /** Returns all workers, lowest id first. */
    public List<Peer> all() {
        return all;
    }

    public Optional<Peer> find(String name) {
        return Optional.ofNullable(byName.get(name));
    }

    public Optional<Peer> find(int id) {
        return Optional.ofNullable(byId.get(id));
    }
}
