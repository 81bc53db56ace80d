package io.waybill.broker;

import io.waybill.api.broker.Counter;
import io.waybill.api.broker.Incarnation;
import io.waybill.api.metrics.HomeMetrics;
import io.waybill.dispatch.Provider;
import io.waybill.dispatch.ProviderErrors;
import io.waybill.home.Home;
import io.waybill.home.Peer;
import io.waybill.host.Host;
import io.waybill.host.failure.CloseSteps;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Brokers of one worker: one for each bundle that uses it, and one for the program.
 *
 * <p><b>Threads.</b> Thread-safe. <b>Ownership.</b> The worker closes it, which revokes all.
 */
public final class Brokers implements AutoCloseable {

    /** Name of the worker's own counter of each owner. */
    private static final String CALLBACK_ERRORS = "callback-errors";

    private static final long SWEEP_NS = 1_000_000_000;

    private final BrokerBackend backend;
    private final ProviderErrors errors;
    private final Host host;
    private final Timers timers;
    private final KeptStates kept; // null if nothing is kept
    private final NamedCounters counters = new NamedCounters();
    private final Object lock = new Object();
    private final Set<OwnedBroker> open = new LinkedHashSet<>(); // guarded by lock
    private final Map<String, OwnerState> states = new TreeMap<>(); // guarded by lock
    private long nextSweepNs; // by the housekeeper
    private List<Peer> seen = List.of(); // by the housekeeper
    private boolean closed; // guarded by lock

    /**
     * Creates brokers whose state ends with them, regardless of its policy, with their own counts of failures of
     * owners.
     */
    public Brokers(BrokerBackend backend, Host host) {
        this(backend, new ProviderErrors(), host, null);
    }

    /**
     * Creates brokers.
     *
     * @param errors counts of failures of callbacks
     * @param kept stores that are kept on disk; closed by the brokers
     */
    public Brokers(BrokerBackend backend, ProviderErrors errors, Host host, KeptStates kept) {
        this.kept = kept;
        this.backend = backend;
        this.errors = errors;
        this.host = host;
        this.nextSweepNs = host.clock().monotonicNs();
        this.timers = new Timers(backend.self().worker().name(), host);
    }

    /**
     * Opens a broker for an owner. It is revoked by {@link OwnedBroker#revoke}, or when the worker closes.
     *
     * @throws IllegalStateException when the worker is closed
     */
    public OwnedBroker open(Provider owner) {
        synchronized (lock) {
            if (closed) {
                throw new IllegalStateException(
                        "worker " + backend.self().worker().name() + " is closed");
            }
            OwnedBroker opened = new OwnedBroker(owner, this);
            open.add(opened);
            return opened;
        }
    }

    void forget(OwnedBroker revoked) {
        synchronized (lock) {
            open.remove(revoked);
        }
    }

    private List<OwnedBroker> open() {
        synchronized (lock) {
            return new ArrayList<>(open);
        }
    }

    /**
     * Returns the metrics of the workers of the home, of which there are none in a replay; empty when they can't be
     * read.
     */
    public Optional<HomeMetrics> metrics() {
        return backend.metrics();
    }

    /** Returns the home; empty in a replay. */
    public Optional<Home> home() {
        return backend.home();
    }

    /**
     * Called with a phrase when an owner reads something that no record has. A replay notes it; a worker does nothing.
     */
    public void readUnrecorded(String what) {
        backend.readUnrecorded(what);
    }

    /** Returns the number of owners whose broker is not revoked. */
    public int size() {
        synchronized (lock) {
            return open.size();
        }
    }

    /** Returns the named counters, as {@code owner/name}. */
    public SortedMap<String, Long> counts() {
        return counters.sums();
    }

    /**
     * Returns the values of gauges, as {@code owner:name}, and has the next ones read. By the thread that publishes
     * them.
     */
    public Map<String, Long> gauges() {
        Map<String, Long> values = new TreeMap<>();
        for (OwnedBroker broker : open()) {
            broker.gauges().read(values);
        }
        return values;
    }

    /**
     * Notifies listeners of peers that changed, and reports callbacks that don't return. By the housekeeper, after each
     * scan of the home.
     */
    public void look() {
        List<Peer> now = backend.peers();
        boolean changed = now != seen;
        seen = now;
        long nowNs = host.clock().monotonicNs();
        for (OwnedBroker broker : open()) {
            broker.look(changed, nowNs);
        }
        if (nowNs - nextSweepNs >= 0) {
            nextSweepNs = nowNs + SWEEP_NS;
            allStates().forEach(OwnerState::sweep);
        }
    }

    OwnerState state(Provider owner) {
        synchronized (lock) {
            return states.computeIfAbsent(owner.name(), name -> new OwnerState(name, host.clock(), kept));
        }
    }

    private List<OwnerState> allStates() {
        synchronized (lock) {
            return new ArrayList<>(states.values());
        }
    }

    /** Returns the stores of all owners, also of bundles that have left. */
    public List<StateStatus> states() {
        List<StateStatus> all = new ArrayList<>();
        allStates().forEach(each -> all.addAll(each.statuses()));
        return all;
    }

    KeptStates kept() {
        return kept;
    }

    BrokerBackend backend() {
        return backend;
    }

    Host host() {
        return host;
    }

    Timers timers() {
        return timers;
    }

    /** Returns a counter of the failures of an owner: callbacks that threw or do not return. */
    Runnable charging(Provider owner) {
        Counter callbackErrors = counters.of(owner.name(), CALLBACK_ERRORS);
        return () -> {
            callbackErrors.increment();
            errors.charge(owner);
        };
    }

    NamedCounters counters() {
        return counters;
    }

    boolean isSelf(Peer peer) {
        return peer.id() == backend.self().worker().id();
    }

    static Incarnation incarnationOf(Peer peer) {
        return new Incarnation(peer.info(), peer.epoch());
    }

    /** Revokes all brokers. Does nothing when repeated. */
    @Override
    public void close() {
        synchronized (lock) {
            closed = true;
        }
        CloseSteps steps = new CloseSteps();
        for (OwnedBroker broker : open()) {
            steps.attempt(() -> broker.revoke("its worker has closed"));
        }
        steps.attempt(timers::close);
        if (kept != null) {
            steps.attempt(kept::close);
        }
        steps.finishUnchecked();
    }
}
