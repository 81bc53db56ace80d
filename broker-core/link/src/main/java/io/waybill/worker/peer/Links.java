package io.waybill.worker.peer;

import io.waybill.api.ErrorCode;
import io.waybill.api.WorkerInfo;
import io.waybill.home.Membership;
import io.waybill.home.Peer;
import io.waybill.home.PeerState;
import io.waybill.home.ReadProblem;
import io.waybill.home.WorkerDirectory;
import io.waybill.host.ChangeWatch;
import io.waybill.host.Host;
import io.waybill.host.failure.CloseSteps;
import io.waybill.journal.JournalSettings;
import io.waybill.worker.poll.PollPermit;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Links of a worker to the peers with which it communicates: created when one of both begins to call the other, ended
 * when the peer leaves. Nothing is opened for the other workers of the home.
 *
 * <p><b>Threads.</b> {@link #refresh} by the housekeeper and by callers of an unknown worker, one at a time;
 * {@link #current} and {@link #find} by any.
 */
public final class Links {
    private static final Logger LOG = LoggerFactory.getLogger(Links.class);

    private final WorkerDirectory own;
    private final Host host;
    private final Membership membership;
    private final boolean serves;
    private final LinkFactory factory;
    private final PollPermit permit;
    private final TensorTransit transit;
    private final Object refreshing = new Object();
    private final Map<Integer, PeerLink> byId = new HashMap<>(); // guarded by refreshing
    private final Map<Integer, List<String>> againById = new HashMap<>(); // guarded by refreshing: keys that run again
    private final LinkFailures failures = new LinkFailures(); // guarded by refreshing
    private final Map<String, PeerLink> byName = new ConcurrentHashMap<>();
    /** Links to incarnations that have ended, until all records that they wrote for this worker are read. */
    private final List<PeerLink> ended = new ArrayList<>(); // guarded by refreshing

    private final Set<Integer> linkedBefore = new HashSet<>(); // guarded by refreshing: any incarnation
    private final WantedPeers wanted; // guarded by refreshing
    private boolean closed; // guarded by refreshing
    private boolean awaitsLinks; // guarded by refreshing
    private boolean hasChanged = true; // guarded by refreshing: whether anything that a refresh follows has changed
    // Written under refreshing, read by the permit's holder at every poll.
    private volatile PeerLink[] current = new PeerLink[0];
    private volatile Runnable changeListener = () -> {};
    private final PeerIncarnations incarnations = new PeerIncarnations(); // guarded by refreshing
    private Consumer<PeerLink> dropListener = link -> {};
    private Announcement announcement = Announcement.AT_ONCE;
    private Consumer<PeerLink> makeListener = link -> {};

    /** @param serves whether peers' requests are read */
    public Links(
            WorkerDirectory own, boolean serves, JournalSettings journal, PollPermit permit, TensorTransit transit) {
        this.own = own;
        this.host = own.home().host();
        this.membership = Membership.present(own.home());
        this.serves = serves;
        this.wanted = new WantedPeers(own);
        this.factory = new LinkFactory(own, serves, journal, transit);
        this.permit = permit;
        this.transit = transit;
    }

    /** Returns whether this worker serves, and so reads the requests of its peers. */
    public boolean serves() {
        return serves;
    }

    /** Returns the transit of tensors to and from these peers. */
    public TensorTransit transit() {
        return transit;
    }

    /** Sets the listener that is called after the links changed. */
    public void onChange(Runnable listener) {
        changeListener = listener;
    }

    /** Adds a listener for ends and begins of peers' incarnations, called in order after the links changed. */
    public void onIncarnation(IncarnationListener listener) {
        incarnations.listener(listener);
    }

    /** Listener for the incarnations of peers. */
    public interface IncarnationListener {
        void ended(int worker, long epoch);

        void began(int worker, long epoch);
    }

    /** Sets the listener for new links, called before polling. Set it before the first refresh. */
    public void onMake(Consumer<PeerLink> listener) {
        makeListener = listener;
    }

    /**
     * Sets the listener for links about to be closed, called by the permit's holder. Set it before the first refresh.
     */
    public void onDrop(Consumer<PeerLink> listener) {
        dropListener = listener;
    }

    /** Lets changes that only a {@link #refresh} can see end waits of {@code changes} from now on. */
    public void changesEnd(ChangeWatch changes) {
        synchronized (refreshing) {
            membership.changesEnd(changes);
            own.contacts().endWaitsOf(changes);
        }
    }

    /**
     * Returns the time for which no refresh is needed without a change; 0 while links are to be created, retried or
     * closed.
     */
    public long restNs() {
        synchronized (refreshing) {
            return isComplete() ? membership.restNs() : 0;
        }
    }

    /** Returns whether no link is to be created, retried or closed. */
    private boolean isComplete() {
        if (awaitsLinks || !failures.isEmpty() || !ended.isEmpty()) {
            return false;
        }
        for (PeerLink link : current) {
            if (link.condition() != PeerLink.Condition.OPEN) {
                return false;
            }
        }
        return true;
    }

    /** Sets the announcement that notifies peers of records for them. Set it before the first refresh. */
    public void announceBy(Announcement other) {
        announcement = other;
    }

    /** Returns the workers of the home that have not left in order, as of the last refresh. */
    public List<Peer> members() {
        return membership.members().all();
    }

    public PeerLink[] current() {
        return current;
    }

    /** Lists the workers of the home, and links to new ones. */
    public void refresh() throws IOException {
        boolean changed = false;
        List<Runnable> inform;
        synchronized (refreshing) {
            if (closed) {
                return; // a link that is created now would never be closed
            }
            own.contacts().take(this::contacted);
            hasChanged |= membership.refresh() | wanted.takeChanged();
            wanted.dropRemoved(membership.members(), byId.keySet(), ended);
            factory.introduceAgain(byId.values(), membership.members());
            if (!hasChanged && isComplete()) {
                return;
            }
            awaitsLinks = false;
            for (Peer peer : membership.members().all()) {
                changed |= follow(peer);
            }
            for (int id : incarnations.departed(membership.members(), byId.keySet())) {
                Optional<Peer> peer = membership.find(id);
                changed |= peer.isPresent() && follow(peer.get());
            }
            failures.retain(membership.members());
            transit.lookForEnded(membership.members());
            changed |= dropSwept();
            if (changed) {
                publish();
            }
            hasChanged = false; // last: after a failure all are followed again
            inform = incarnations.take();
        }
        inform.forEach(Runnable::run);
        if (changed) {
            changeListener.run();
        }
    }

    private void contacted(int id) {
        wanted.add(id);
        hasChanged = true;
    }

    private boolean follow(Peer peer) {
        boolean isWanted = byId.containsKey(peer.id()) || wanted.contains(peer.id(), serves);
        boolean changed = isWanted && update(peer);
        awaitsLinks |= isWanted && peer.state().isThere() && !byId.containsKey(peer.id());
        if (peer.id() != own.id()) {
            incarnations.update(peer, !isWanted || byId.containsKey(peer.id()));
        }
        return changed;
    }

    private boolean update(Peer peer) {
        PeerLink link = byId.get(peer.id());
        if (link != null
                && link.condition() != PeerLink.Condition.UNREADABLE
                && link.epoch() == peer.epoch()
                && peer.state().isThere()) {
            report(link, peer);
            return false;
        }
        long nowNs = host.clock().monotonicNs();
        boolean changed = false;
        if (link != null) {
            if (peer.state() == PeerState.UNREADABLE) {
                link.unreadable(peer.readProblem());
            }
            if (link.condition() == PeerLink.Condition.UNREADABLE) {
                failures.unreadable(peer, nowNs);
            }
            link.gone(peer);
            byId.remove(peer.id());
            byName.remove(link.name(), link);
            ended.add(link);
            changed = true;
        }
        return peer.state().isThere() && failures.mayTry(peer, nowNs) && link(peer) != null || changed;
    }

    private PeerLink link(Peer peer) {
        PeerLink link = null;
        try {
            link = factory.open(peer, !linkedBefore.contains(peer.id()), this::isGone, announcement);
            if (link == null) {
                return null; // it is starting: retried at a later refresh
            }
            endReadingBefore(link);
            report(link, peer);
            makeListener.accept(link);
            byId.put(peer.id(), link);
            wanted.add(peer.id());
            linkedBefore.add(peer.id());
            byName.put(peer.name(), link);
            failures.linked(peer);
            return link;
        } catch (IOException | RuntimeException | Error e) {
            if (link != null) {
                new CloseSteps().attempt(link::close).suppressIn(e);
            }
            if (e instanceof Error error && !(e instanceof InternalError) && !(e instanceof OutOfMemoryError)) {
                throw error; // others concern this peer's files, or lack of threads: the other peers are linked anyway
            }
            if (peer.state() == PeerState.STARTING) {
                return null; // its files are incomplete: retried at the next refresh
            }
            ReadProblem problem = ReadProblem.of(e);
            if (failures.failed(peer, problem, host.clock().monotonicNs())) {
                LOG.error("No link to worker {} (id {}): {}", peer.name(), peer.id(), problem.text(), e);
            }
            return null;
        }
    }

    /**
     * Passes on the entries of a peer's record that decide what calls to it may expect. An incarnation that is starting
     * has not published the keys that it runs again: the keys of the previous one are assumed.
     */
    private void report(PeerLink link, Peer peer) {
        if (peer.state() == PeerState.READY && peer.record().isPresent()) {
            againById.put(peer.id(), peer.record().get().atLeastOnce());
        }
        link.again(againById.getOrDefault(peer.id(), List.of()));
        peer.record().ifPresent(link::shows);
    }

    /** Ends the reading of responses of a peer's earlier incarnations where the link to the next one begins. */
    private void endReadingBefore(PeerLink next) {
        long responsesIndex = next.reader().responses().nextIndex();
        for (PeerLink link : ended) {
            if (link.id() == next.id() && responsesIndex > 0) { // 0: there is no response yet
                link.reader().responsesEnd(responsesIndex);
            }
        }
    }

    private boolean isGone(int peerId) {
        return !byId.containsKey(peerId)
                && membership
                        .members()
                        .find(peerId)
                        .map(peer -> !peer.state().isThere())
                        .orElse(true);
    }

    /** Closes the links of ended peers that are completely read, when no thread polls. */
    private boolean dropSwept() {
        if (!isAnySwept() || !permit.tryAcquire()) {
            return false;
        }
        try {
            List<PeerLink> done = ended.stream().filter(PeerLink::isDone).toList();
            ended.removeAll(done);
            done.forEach(this::drop);
            if (!done.isEmpty()) {
                publish();
            }
            return !done.isEmpty();
        } finally {
            permit.release();
        }
    }

    private boolean isAnySwept() {
        for (PeerLink link : ended) {
            if (link.isSwept()) {
                return true;
            }
        }
        return false;
    }

    private void drop(PeerLink link) {
        dropListener.accept(link);
        link.close();
        if (!byId.containsKey(link.id())) {
            transit.unlinked(link);
        }
    }

    private void publish() {
        // links to ended incarnations first: responses of one incarnation come before those of the next
        List<PeerLink> all = new ArrayList<>(ended);
        all.addAll(byId.values());
        current = all.toArray(new PeerLink[0]);
    }

    /** Returns the link to a worker by name; null when there is none. */
    PeerLink named(String name) {
        return byName.get(name);
    }

    /** Returns the link to a worker by name or else by id in decimal; empty when there is none. */
    Optional<PeerLink> find(String to) {
        PeerLink link = byName.get(to);
        if (link != null) {
            return Optional.of(link);
        }
        int id = WorkerAddress.idOf(to);
        return id < 0 ? Optional.empty() : find(id);
    }

    /** Returns the link to a worker by id, never by name; empty when there is none. */
    public Optional<PeerLink> find(int id) {
        for (PeerLink candidate : current) {
            if (candidate.id() == id && candidate.condition() == PeerLink.Condition.OPEN) {
                return Optional.of(candidate);
            }
        }
        return Optional.empty();
    }

    /** Returns a worker as its record describes it now. */
    public Optional<Peer> peerNow(int id, String name) {
        return membership.read(new WorkerInfo(id, name));
    }

    /**
     * Links to the next incarnation of a peer, also if this worker does not serve, until it no longer awaits it. Any
     * thread.
     */
    public void awaits(int id, boolean next) {
        wanted.awaits(id, next);
    }

    /** Returns a worker, linked or not, also one that has left. */
    public Optional<Peer> peer(int id) throws IOException {
        return membership.find(id);
    }

    /**
     * Looks up a peer that is present, or may be succeeded if {@code mayWait}, but has no link yet; throws the reason
     * if it will get none.
     */
    Peer look(String to, boolean mayWait) {
        synchronized (refreshing) {
            if (closed) {
                throw CallErrors.refused(ErrorCode.CLOSED, "this worker is closed");
            }
            Optional<Peer> known;
            try {
                hasChanged |= membership.refresh();
                known = membership.find(to);
                known = known.isPresent() ? known : membership.find(WorkerAddress.idOf(to));
            } catch (IOException e) {
                throw CallErrors.homeUnreadable(e);
            }
            Peer peer = known.orElseThrow(() -> CallErrors.unknownWorker(own.info(), to));
            if (mayWait && host.clock().bootNs() <= peer.succeededUntilNs()) {
                return peer;
            }
            if (!peer.state().isThere()) {
                throw CallErrors.notThere(peer, to);
            }
            if (!byId.containsKey(peer.id())
                    && failures.mayTry(peer, host.clock().monotonicNs())
                    && link(peer) != null) {
                publish();
            }
            ReadProblem problem = failures.problem(peer);
            if (!problem.isNone()) {
                throw CallErrors.unreadable(to, problem);
            }
            return peer;
        }
    }

    /** Ends all links. Only when no thread polls. */
    public void close() {
        synchronized (refreshing) {
            closed = true;
            CloseSteps steps = new CloseSteps();
            byId.values().forEach(link -> steps.attempt(link::close));
            ended.forEach(link -> steps.attempt(link::close));
            ended.clear();
            byId.clear();
            byName.clear();
            current = new PeerLink[0];
            steps.attempt(membership::close).finishUnchecked();
        }
    }
}
