package io.waybill.dispatch;

import io.waybill.api.admin.HandlerInfo;
import io.waybill.event.CallListeners;
import io.waybill.host.Clock;
import io.waybill.host.Threads;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Registry of the handlers of a process. Every change publishes a new {@link HandlerTable}.
 *
 * <p>Of several handlers for a key the registry uses the handler with the highest ranking, then the oldest. A key whose
 * last handler was removed is remembered, so that its requests can park; at most {@value #MAX_REMEMBERED} such keys,
 * and the oldest are forgotten first.
 *
 * <p><b>Threads.</b> Any. Listeners are called on the thread that made the change, and must be quick.
 */
public final class HandlerRegistry {

    static final int MAX_REMEMBERED = 65_536;

    private volatile ParkingSettings parking; // set by any thread, read by threads that park requests
    private final Threads threads;
    private final Clock clock;
    private final Map<HandlerKey, Long> parked = new ConcurrentHashMap<>();
    private final ProviderErrors errors = new ProviderErrors();
    private final AccessPolicies policies;
    private final CallListeners events;
    private final List<Listener> listeners = new CopyOnWriteArrayList<>();
    private volatile PolledTasks.Polling polling; // from the last listener that has a way of polling
    private volatile HandlerTable table; // written under lock, read by all serving threads
    private final Object lock = new Object();
    // Both maps are guarded by lock. The published entries of a key stand in the order of use, the one in use first.
    private final Map<HandlerKey, List<HandlerEntry>> published = new LinkedHashMap<>();
    private final Map<HandlerKey, HandlerTable.Departure> left = new LinkedHashMap<>();
    private final Map<HandlerEntry, Object> draining = new LinkedHashMap<>(); // values: group of the withdrawal
    private final Map<HandlerKey, Canary> canaries = new HashMap<>(); // guarded by lock
    private boolean expectingMore;

    /** Handler that shares the requests of a published one of the same key and provider. */
    private record Canary(HandlerEntry entry, CanaryRule rule) {}

    /** Listener for changes of the registry. Called on the thread that made a change, and must be quick. */
    @FunctionalInterface
    public interface Listener {
        /** Notifies that the table has changed, or the handlers in service. */
        void changed();
        /** Notifies that there is room for a request that found none, or that the access policies have changed. */
        default void roomCame() {}
        /** Returns how threads of handlers poll, unless a later listener has another way; null for none. */
        default PolledTasks.Polling polling() {
            return null;
        }
    }

    /** Registration of a handler. Thread-safe. */
    public interface Registration {
        /**
         * Withdraws the handler, so that new requests go to the next one or park, and waits until the requests that it
         * has begun are ended. A second call only waits again.
         */
        Drained withdraw(Duration limit);
        /** Returns one status per key of the handler. */
        List<HandlerStatus> statuses();
        /** Returns the handler under each of its keys. */
        List<HandlerEntry> entries();
    }

    public HandlerRegistry(ParkingSettings parking, Threads threads, Clock clock) {
        this.parking = Objects.requireNonNull(parking);
        this.threads = Objects.requireNonNull(threads);
        this.clock = Objects.requireNonNull(clock);
        this.events = new CallListeners(threads, clock);
        this.policies = new AccessPolicies(errors, threads);
        this.table = new HandlerTable(Map.of(), new HandlerTable.Transition(Map.of(), false, false), parking, clock);
        policies.onChange(this::roomCame);
    }

    /** Creates the executor for the handlers of one provider; the caller closes it, after it withdrew the handlers. */
    public HandlerExecutor newExecutor(Provider provider, ExecutorSettings settings) {
        PolledTasks.Source tasks = new PolledTasks.Source(this::roomCame, () -> polling);
        return new HandlerExecutor(provider.name(), settings, threads, clock, tasks);
    }

    /** Publishes a handler under all its keys at once. */
    public Registration add(HandlerSpec spec) {
        Registration added = prepare(spec);
        synchronized (lock) {
            added.entries().forEach(this::enter);
            publish();
        }
        notifyListeners();
        return added;
    }

    /**
     * Publishes a handler of a provider that must have its keys exclusively.
     *
     * @throws KeyClaimedException when a handler of a provider of another name has one of them; nothing is published
     * then
     */
    public Registration addExclusively(HandlerSpec spec) throws KeyClaimedException {
        Registration added = prepare(spec);
        replace(List.of(), List.of(added));
        return added;
    }

    /** Returns a handler that no request finds until {@link #replace} or {@link #share}. */
    public Registration prepare(HandlerSpec spec) {
        long sinceWallNs = clock.wallNs();
        return new Stay(spec.keys().stream()
                .map(key -> new HandlerEntry(key, spec, sinceWallNs))
                .toList());
    }

    /**
     * Publishes handlers of a provider in place of others of the same provider, as {@link #addExclusively} does: one
     * table has all the new ones and none of the old ones, so no request is without a handler in between. The old ones
     * end the requests that they have begun; {@link #withdraw} waits for that.
     *
     * @param next prepared handlers, which may share the requests of the old ones already; one that was withdrawn
     * meanwhile is not published
     * @throws KeyClaimedException when a handler of a provider of another name has one of the keys; nothing changes
     * then
     */
    public void replace(List<Registration> old, List<Registration> next) throws KeyClaimedException {
        List<HandlerEntry> leaving = entries(old);
        List<HandlerEntry> added = entries(next);
        synchronized (lock) {
            requireUnclaimed(added);
            added.forEach(this::endShare);
            added.stream()
                    .filter(entry -> !draining.containsKey(entry) && !entry.isWithdrawn())
                    .forEach(this::enter);
            takeOut(leaving, new Object());
            publish();
        }
        leaving.forEach(HandlerEntry::withdraw); // after publishing, as in takeOutAll
        notifyListeners();
    }

    /**
     * Gives prepared handlers a share of the requests of handlers of the same provider. Keys that these lack get no
     * requests.
     *
     * @throws KeyClaimedException when a handler of a provider of another name has one of the keys; nothing changes
     * then
     */
    public void share(List<Registration> next, CanaryRule rule) throws KeyClaimedException {
        List<HandlerEntry> added = entries(next);
        synchronized (lock) {
            requireUnclaimed(added);
            for (HandlerEntry entry : added) {
                if (rule.concerns(entry.key())) {
                    canaries.put(entry.key(), new Canary(entry, rule));
                }
            }
            publish();
        }
    }

    private static List<HandlerEntry> entries(List<Registration> registrations) {
        return registrations.stream().flatMap(each -> each.entries().stream()).toList();
    }

    private void requireUnclaimed(List<HandlerEntry> entries) throws KeyClaimedException {
        for (HandlerEntry claiming : entries) {
            for (HandlerEntry entry : published.getOrDefault(claiming.key(), List.of())) {
                if (!entry.provider().name().equals(claiming.provider().name())) {
                    throw new KeyClaimedException(claiming.key(), entry.provider(), claiming.provider());
                }
            }
        }
    }

    /**
     * Withdraws several handlers at once, as {@link Registration#withdraw} does. None of them is drained before all
     * are, so requests in flight can still pass messages inside their own to the other handlers.
     */
    public Drained withdraw(List<Registration> registrations, Duration limit) {
        return withdrawAll(entries(registrations), limit);
    }

    /**
     * Withdraws several handlers at once, and does not wait for the requests that they have begun; {@link #withdraw}
     * does so later.
     */
    public void takeOut(List<Registration> registrations) {
        takeOutAll(entries(registrations));
    }

    private Drained withdrawAll(List<HandlerEntry> entries, Duration limit) {
        long untilNs = clock.monotonicNs() + limit.toNanos();
        takeOutAll(entries);
        awaitDrained(entries, untilNs);
        entries.forEach(HandlerEntry::leave);
        long stillRunning = awaitDrained(entries, untilNs); // requests that began between the two
        entries.stream().filter(entry -> entry.inFlight() > 0).forEach(HandlerEntry::giveUp);
        synchronized (lock) {
            entries.forEach(draining::remove); // removeAll would compare each with each
            publish();
        }
        return stillRunning == 0 ? Drained.DRAINED : Drained.timedOut(stillRunning);
    }

    private void takeOutAll(List<HandlerEntry> entries) {
        synchronized (lock) {
            takeOut(entries, new Object());
            publish();
        }
        // after publishing: a request that an entry refuses does not find it in the table again
        entries.forEach(HandlerEntry::withdraw);
        notifyListeners();
    }

    /**
     * Waits until no request is in flight at the same time, or for the limit; returns the number of requests still in
     * flight.
     */
    private long awaitDrained(List<HandlerEntry> entries, long untilNs) {
        long running;
        do {
            running = 0;
            for (HandlerEntry entry : entries) {
                running += entry.awaitDrained(clock, threads, untilNs);
            }
            // a drained handler may have begun a message of one that was not drained
        } while (running == 0 && entries.stream().anyMatch(entry -> entry.inFlight() > 0));
        return running;
    }

    /** Enters a handler; {@link #publish()} follows. Under lock. */
    private void enter(HandlerEntry entry) {
        List<HandlerEntry> ofKey = published.get(entry.key());
        if (ofKey == null) {
            ofKey = new ArrayList<>();
            published.put(entry.key(), ofKey);
        }
        int at = ofKey.size();
        while (at > 0 && ofKey.get(at - 1).ranking() < entry.ranking()) {
            at--; // of handlers with equal rankings the older stays in front
        }
        ofKey.add(at, entry);
        left.remove(entry.key());
    }

    /**
     * Announces that handlers are still expected: until {@link #expectNoMore()}, requests without a handler park as if
     * it had been removed. A node calls this before it joins, because requests that were sent while it was down arrive
     * before its bundles are started.
     */
    public void expectMore() {
        expect(true);
    }

    /** Ends {@link #expectMore()}: from now on requests without a handler are rejected. */
    public void expectNoMore() {
        expect(false);
    }

    private void expect(boolean more) {
        synchronized (lock) {
            expectingMore = more;
            publish();
        }
        notifyListeners();
    }

    /** Returns the handlers as they are now. One volatile read. */
    public HandlerTable table() {
        return table;
    }

    /**
     * Returns a leaving handler that would get the requests of a key: it was withdrawn together with this one, or has
     * its threads, and still drains. Returns null for none.
     */
    public HandlerEntry leaving(HandlerKey key, HandlerEntry with) {
        List<HandlerKey> keys = new ArrayList<>(List.of(key));
        keys.addAll(HandlerKey.patternsFor(key));
        synchronized (lock) {
            Object together = draining.get(with);
            for (HandlerKey each : keys) {
                for (HandlerEntry entry : draining.keySet()) {
                    boolean isWithIt = together == draining.get(entry) || entry.executor() == with.executor();
                    if (isWithIt && entry.key().equals(each)) {
                        return entry;
                    }
                }
            }
        }
        return null;
    }

    /** Returns the policies that decide which requests reach the handlers. */
    public AccessPolicies policies() {
        return policies;
    }

    /** Returns the count of failures of providers, in handlers and elsewhere. */
    public ProviderErrors errors() {
        return errors;
    }

    /** Returns the listeners for the calls of the worker. */
    public CallListeners events() {
        return events;
    }

    public ParkingSettings parking() {
        return parking;
    }

    /** Replaces the limits of parking, also for requests that are parked. */
    public void parking(ParkingSettings other) {
        synchronized (lock) {
            parking = Objects.requireNonNull(other);
            publish();
        }
    }

    /** Notifies that a handler was put out of service, or is back. */
    public void serviceChanged() {
        notifyListeners();
    }

    private void roomCame() {
        listeners.forEach(Listener::roomCame);
    }

    public void addListener(Listener listener) {
        listeners.add(listener);
        findPolling();
    }

    /** Removes a listener: no reference to it remains here. */
    public void removeListener(Listener listener) {
        listeners.remove(listener);
        findPolling();
    }

    private synchronized void findPolling() {
        polling = null;
        listeners.forEach(each -> polling = each.polling() == null ? polling : each.polling());
    }

    /** Counts requests that park ({@code change} above zero) or stop parking (below), for {@link #statuses()}. */
    public void countParked(HandlerKey key, int change) {
        parked.merge(key, (long) change, (count, more) -> count + more == 0 ? null : count + more);
    }

    private void notifyListeners() {
        for (Listener listener : listeners) {
            listener.changed();
        }
    }

    /** Returns the number of parked requests, over all keys. */
    public long parkedRequests() {
        return parked.values().stream().mapToLong(Long::longValue).sum();
    }

    /** Returns the status of every handler under each of its keys, and of the keys whose handler was removed. */
    public List<HandlerStatus> statuses() {
        List<HandlerStatus> statuses = new ArrayList<>();
        synchronized (lock) {
            Map<HandlerKey, Long> waiting = parkedByDeciding();
            for (List<HandlerEntry> ofKey : published.values()) {
                for (HandlerEntry entry : ofKey) {
                    statuses.add(statusOf(entry, waiting));
                }
            }
            for (Canary canary : canaries.values()) {
                statuses.add(statusOf(canary.entry, waiting));
            }
            for (HandlerEntry entry : draining.keySet()) {
                statuses.add(statusOf(entry, waiting));
            }
            for (Map.Entry<HandlerKey, HandlerTable.Departure> each : left.entrySet()) {
                statuses.add(each.getValue().status(each.getKey(), waiting.getOrDefault(each.getKey(), 0L)));
            }
        }
        return statuses;
    }

    /**
     * Returns the parked requests by deciding key: they park under their own key, and count at the pattern whose
     * handler they wait for.
     */
    private Map<HandlerKey, Long> parkedByDeciding() {
        Map<HandlerKey, Long> waiting = new HashMap<>();
        for (Map.Entry<HandlerKey, Long> each : parked.entrySet()) {
            HandlerKey deciding = table.deciding(each.getKey());
            waiting.put(deciding, waiting.getOrDefault(deciding, 0L) + each.getValue());
        }
        return waiting;
    }

    private HandlerStatus statusOf(HandlerEntry entry, Map<HandlerKey, Long> waiting) {
        List<HandlerEntry> ofKey = published.getOrDefault(entry.key(), List.of());
        Canary canary = canaries.get(entry.key());
        if (canary != null && canary.entry == entry) {
            return entry.status(HandlerInfo.State.CANARY, 0);
        }
        if (!ofKey.contains(entry)) {
            return entry.status(HandlerInfo.State.DRAINING, 0);
        }
        if (ofKey.get(0) != entry) {
            return entry.status(HandlerInfo.State.SHADOWED, 0);
        }
        HandlerInfo.State state = entry.isOutOfService() ? HandlerInfo.State.STUCK : HandlerInfo.State.SERVING;
        return entry.status(state, waiting.getOrDefault(entry.key(), 0L));
    }

    private void publish() {
        Map<HandlerKey, HandlerEntry> used = new HashMap<>();
        for (Map.Entry<HandlerKey, List<HandlerEntry>> each : published.entrySet()) {
            HandlerEntry inUse = each.getValue().get(0);
            Canary canary = canaries.get(each.getKey());
            boolean shares = canary != null
                    && canary.entry.provider().name().equals(inUse.provider().name());
            inUse.canary(shares ? canary.entry : null, shares ? canary.rule : null);
            used.put(each.getKey(), inUse);
        }
        table = new HandlerTable(
                used, new HandlerTable.Transition(left, !draining.isEmpty(), expectingMore), parking, clock);
    }

    /** Ends a handler's share of the requests of another one; false if it has none. Under lock. */
    private boolean endShare(HandlerEntry entry) {
        Canary canary = canaries.get(entry.key());
        return canary != null && canary.entry == entry && canaries.remove(entry.key(), canary);
    }

    /** Removes handlers that leave together; {@link #publish()} follows. Under lock. */
    private void takeOut(List<HandlerEntry> entries, Object together) {
        entries.forEach(entry -> remove(entry, together));
    }

    private void remove(HandlerEntry entry, Object together) {
        List<HandlerEntry> ofKey = published.get(entry.key());
        boolean wasPublished = ofKey != null && ofKey.remove(entry);
        boolean wasSharing = endShare(entry);
        if (wasPublished || wasSharing) {
            draining.put(entry, together);
        }
        if (wasPublished && ofKey.isEmpty()) {
            published.remove(entry.key());
            left.put(entry.key(), HandlerTable.Departure.of(entry, clock));
            while (left.size() > MAX_REMEMBERED) {
                left.remove(left.keySet().iterator().next()); // oldest one
            }
        }
    }

    private final class Stay implements Registration {

        private final List<HandlerEntry> entries;

        Stay(List<HandlerEntry> entries) {
            this.entries = entries;
        }

        @Override
        public Drained withdraw(Duration limit) {
            return withdrawAll(entries, limit);
        }

        @Override
        public List<HandlerEntry> entries() {
            return entries;
        }

        @Override
        public List<HandlerStatus> statuses() {
            synchronized (lock) {
                Map<HandlerKey, Long> waiting = parkedByDeciding();
                return entries.stream().map(entry -> statusOf(entry, waiting)).toList();
            }
        }
    }
}
