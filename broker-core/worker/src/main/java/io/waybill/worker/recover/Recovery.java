package io.waybill.worker.recover;

import io.waybill.home.cursor.CursorSlot;
import io.waybill.host.Host;
import io.waybill.host.agent.AgentThread;
import io.waybill.host.agent.ParkingIdleStrategy;
import io.waybill.host.agent.WakeableIdleStrategy;
import io.waybill.host.failure.MappedFaults;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.poll.FaultAlarm;
import io.waybill.worker.serve.PreviousIncarnation;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.AgentTerminationException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds the requests of a peer that earlier incarnations had read without responding, when the peer appears for the
 * first time in this incarnation. Until then the peer's requests are not served, so that they are begun in their order.
 *
 * <p><b>Threads.</b> Called by the thread that creates links, one at a time; searches on a separate thread, which runs
 * while there is something to search.
 */
public final class Recovery {

    private static final Logger LOG = LoggerFactory.getLogger(Recovery.class);

    private static final int MAX_LOOKS = 100;
    private static final long LOOK_AGAIN_NS = 50_000_000;

    private final String workerName;
    private final PreviousIncarnation earlier;
    private final UnansweredScan scan;
    private final Host host;
    private final FaultAlarm faults;
    private final BlockingQueue<PeerLink> toDo = new LinkedBlockingQueue<>();
    private final Set<Integer> begun = new HashSet<>(); // guarded by this
    private final Map<Integer, List<PeerLink>> waiting = new HashMap<>(); // guarded by this
    private boolean running; // guarded by this
    private volatile Runnable doneListener = () -> {};

    public Recovery(String workerName, PreviousIncarnation earlier, UnansweredScan scan, Host host, FaultAlarm faults) {
        this.workerName = workerName;
        this.earlier = earlier;
        this.scan = scan;
        this.host = host;
        this.faults = faults;
    }

    /** Sets the listener that is called after requests were found, or can be read. */
    public void onDone(Runnable listener) {
        doneListener = listener;
    }

    /** Starts the search for a new link that is not polled yet. */
    public synchronized void made(PeerLink link) {
        boolean isFirst = begun.add(link.id());
        List<PeerLink> others = waiting.get(link.id());
        if (others != null) {
            link.backlog().recovering();
            others.add(link);
        } else if (isFirst
                && link.reader().readsRequests()
                && isNeeded(link.reader().position())) {
            link.backlog().recovering();
            waiting.put(link.id(), new ArrayList<>(List.of(link)));
            toDo.add(link);
        }
        if (!running && !toDo.isEmpty()) {
            startSearch(); // which waits for this lock
            running = true;
        }
    }

    private boolean isNeeded(CursorSlot slot) {
        return !earlier.cursorsAreExact()
                || slot.requestsIndex() > 0 && slot.requestsCompletedBefore() < slot.requestsIndex();
    }

    private void startSearch() {
        WakeableIdleStrategy idle = new ParkingIdleStrategy(host.clock(), host.threads());
        new AgentThread(workerName + "-recovery", new Search(idle), idle).startWhenPossible(host.threads());
    }

    private synchronized PeerLink next() {
        PeerLink link = toDo.poll();
        running = link != null;
        return link;
    }

    /** Searches the links one after the other until none is left. */
    private final class Search implements Agent {

        private final WakeableIdleStrategy idle;
        private PeerLink link; // null between two links
        private int looks;

        Search(WakeableIdleStrategy idle) {
            this.idle = idle;
        }

        @Override
        public String roleName() {
            return "recovery";
        }

        @Override
        public int doWork() {
            if (link == null) {
                link = next();
                looks = 0;
            }
            if (link == null) {
                throw new AgentTerminationException(true);
            }
            Optional<long[]> unanswered = ++looks < MAX_LOOKS ? findAll(link) : Optional.of(findWhatIsThere(link));
            if (unanswered.isEmpty()) {
                idle.rest(LOOK_AGAIN_NS);
                return 0;
            }
            finish(link, unanswered.get());
            link = null;
            doneListener.run();
            return 1;
        }
    }

    private void finish(PeerLink link, long[] unanswered) {
        if (unanswered.length > 0) {
            LOG.info(
                    "An earlier incarnation left {} requests of worker {} without a response", unanswered.length, link);
        }
        hand(link.id(), unanswered);
    }

    /** Searches a peer's queues, with retries: a peer that joins again writes to its queues meanwhile. */
    private Optional<long[]> findAll(PeerLink link) {
        try {
            UnansweredScan.Found found = find(link);
            return found.isWhole() ? Optional.of(found.unanswered()) : Optional.empty();
        } catch (RuntimeException | Error e) { // whatever the peer's files contain
            if (MappedFaults.is(e)) {
                faults.report(e);
            }
            return Optional.empty();
        }
    }

    private long[] findWhatIsThere(PeerLink link) {
        try {
            UnansweredScan.Found found = find(link);
            if (!found.isWhole()) {
                LOG.error(
                        "Some requests of worker {} that an earlier incarnation had read, up to position {}, are no longer there",
                        link,
                        Long.toHexString(link.reader().position().requestsIndex()));
            }
            return found.unanswered();
        } catch (RuntimeException | Error e) { // its requests stay without a response
            LOG.error(
                    "The requests of worker {} that an earlier incarnation left without a response are unknown",
                    link,
                    e);
            faults.report(e);
            return new long[0];
        }
    }

    private UnansweredScan.Found find(PeerLink link) {
        CursorSlot slot = link.reader().position();
        long to = earlier.cursorsAreExact() ? slot.requestsIndex() : 0;
        UnansweredScan.Found found =
                scan.find(link.reader().requestsDirectory(), slot.requestsCompletedBefore(), to, slot.responsesFrom());
        MappedFaults.surface();
        if (found.end() > slot.requestsIndex()) {
            slot.requestsIndex(found.end());
        }
        return found;
    }

    /** Passes the requests to the newest link, or, when that has ended, completes them for it. */
    private synchronized void hand(int peerId, long[] unanswered) {
        List<PeerLink> links = waiting.remove(peerId);
        for (int i = 0; i < links.size() - 1; i++) {
            links.get(i).backlog().recovered(new long[0]);
        }
        links.get(links.size() - 1).backlog().recovered(unanswered);
    }
}
