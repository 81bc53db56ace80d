package io.waybill.worker.peer;

import io.waybill.api.WorkerInfo;
import io.waybill.home.Members;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.cursor.CursorSlot;
import io.waybill.home.cursor.FileStamp;
import io.waybill.host.Clock;
import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Peers to which a serving worker keeps a link while they are present: peers with which it, or an earlier incarnation,
 * communicated, and peers that announced themselves. All peers, if the cursors may have lost some.
 *
 * <p><b>Threads.</b> Guarded by the lock of {@link Links}.
 */
final class WantedPeers {

    private static final long LOOK_INTERVAL_NS = 1_000_000_000L;

    private final Set<Integer> ids = new HashSet<>();
    private final Set<Integer> awaited = ConcurrentHashMap.newKeySet();
    private volatile boolean hasChanged; // set by the permit's holder, cleared by the thread that refreshes the links
    private final boolean all;
    private final WorkerDirectory own;
    private FileStamp claims = FileStamp.MISSING;
    private boolean tooYoung;
    private long nextLookNs;

    WantedPeers(WorkerDirectory own) {
        this.own = own;
        nextLookNs = own.home().host().clock().monotonicNs();
        all = !own.cursorsAreExact();
        for (CursorSlot slot : own.cursors().taken()) {
            ids.add(slot.peerId());
        }
    }

    /** Adds a peer by its id, which another process may claim. */
    void add(int id) {
        if (id >= 0 && id <= WorkerInfo.MAX_ID) {
            ids.add(id);
        }
    }

    /**
     * Frees the slots of workers that were removed from the home, once no link uses them: their ids may be assigned
     * again. Checks at most once a second, and only if claims came or went.
     */
    void dropRemoved(Members members, Set<Integer> linked, List<PeerLink> ended) throws IOException {
        Clock clock = own.home().host().clock();
        if (clock.monotonicNs() - nextLookNs < 0) {
            return;
        }
        nextLookNs = clock.monotonicNs() + LOOK_INTERVAL_NS;
        FileStamp stamp = FileStamp.of(own.home().claimsPath());
        if (stamp.equals(claims) && !tooYoung) {
            return;
        }
        tooYoung = stamp.isTooYoung(clock.wallNs());
        claims = stamp;
        for (CursorSlot slot : own.cursors().taken()) {
            int id = slot.peerId();
            boolean isUsed = linked.contains(id) || ended.stream().anyMatch(link -> link.id() == id);
            if (!isUsed && members.find(id).isEmpty() && own.home().isFree(id)) {
                own.cursors().free(id);
                ids.remove(id);
            }
        }
    }

    /** Returns whether there is to be a link to a peer that no call has asked for. */
    boolean contains(int id, boolean serves) {
        return serves && (all || ids.contains(id)) || awaited.contains(id);
    }

    /** Notes that calls wait for a response of the peer's next incarnation, or no longer do. Any thread. */
    void awaits(int id, boolean next) {
        if (next) {
            awaited.add(id);
            hasChanged = true;
        } else {
            awaited.remove(id);
        }
    }

    /** Returns whether more peers are awaited since the last call. */
    boolean takeChanged() {
        if (!hasChanged) {
            return false;
        }
        hasChanged = false; // peers added before are seen by the code that follows
        return true;
    }
}
