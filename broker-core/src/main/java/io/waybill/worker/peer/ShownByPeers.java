package io.waybill.worker.peer;

import io.waybill.home.Peer;
import io.waybill.home.PeerState;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What peers show about themselves that decides what calls to them may expect.
 *
 * <p><b>Threads.</b> Guarded by the lock of {@link Links}.
 */
final class ShownByPeers {

    private final Map<Integer, List<String>> again = new HashMap<>();

    /**
     * Passes it on to the link. An incarnation that is starting has not published the keys that it runs again: those of the previous one are
     * assumed.
     */
    void report(PeerLink link, Peer peer) {
        if (peer.state() == PeerState.READY && peer.record().isPresent()) {
            again.put(peer.id(), peer.record().get().atLeastOnce());
        }
        link.again(again.getOrDefault(peer.id(), List.of()));
        peer.record().ifPresent(link::shows);
    }
}
