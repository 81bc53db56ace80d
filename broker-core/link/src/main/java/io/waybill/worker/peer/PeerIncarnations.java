package io.waybill.worker.peer;

import io.waybill.home.Members;
import io.waybill.home.Peer;
import io.waybill.home.PeerState;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The incarnations of the other workers that are present, with or without a link, and the listener for their ends and
 * begins.
 *
 * <p><b>Threads.</b> Guarded by the lock of {@link Links}; the notifications run after it is released.
 */
final class PeerIncarnations {

    private final Map<Integer, Long> present = new HashMap<>();
    private final List<Runnable> toNotify = new ArrayList<>();
    private Links.IncarnationListener listener; // null for none

    void listener(Links.IncarnationListener notified) {
        listener = notified;
    }

    /** Returns the ids of peers that are linked, or were noted as present, and are no longer members. */
    List<Integer> departed(Members members, Set<Integer> linked) {
        Set<Integer> departed = new LinkedHashSet<>(present.keySet());
        departed.addAll(linked);
        for (Peer member : members.all()) {
            departed.remove(member.id());
        }
        return List.copyOf(departed);
    }

    /** Notes the state of a peer. Call after its link was updated. */
    void update(Peer peer, boolean mayBegin) {
        if (listener == null) {
            return;
        }
        int id = peer.id();
        Long known = present.get(id);
        PeerState state = peer.state();
        if (known != null && state != PeerState.UNREADABLE && (!state.isThere() || peer.epoch() != known)) {
            present.remove(id);
            toNotify.add(() -> listener.ended(id, known));
        }
        if (mayBegin && state.isThere() && !present.containsKey(id)) {
            long epoch = peer.epoch();
            present.put(id, epoch);
            toNotify.add(() -> listener.began(id, epoch));
        }
    }

    /** Takes the notifications that are due, in their order. */
    List<Runnable> take() {
        List<Runnable> due = List.copyOf(toNotify);
        toNotify.clear();
        return due;
    }
}
