package io.waybill.broker;

import io.waybill.api.Caller;
import io.waybill.api.Rpc;
import io.waybill.api.broker.Broker;
import io.waybill.api.broker.Counter;
import io.waybill.api.broker.Incarnation;
import io.waybill.api.broker.JoinedWorker;
import io.waybill.api.broker.PeerListener;
import io.waybill.api.broker.ReplayRun;
import io.waybill.api.broker.ScheduledTask;
import io.waybill.api.broker.Subscription;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.state.StatePolicy;
import io.waybill.api.state.StateStore;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.dispatch.Provider;
import io.waybill.host.Clock;
import io.waybill.host.failure.CloseSteps;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Broker of one owner, until it is revoked. Every object of the owner that the worker refers to is referred to from
 * here, and is released by {@link #revoke}.
 *
 * <p><b>Threads.</b> Thread-safe.
 */
public final class OwnedBroker implements Broker {

    private static final Logger LOG = LoggerFactory.getLogger(OwnedBroker.class);
    private static final int MAX_SUBSCRIPTIONS = 1_000;
    private static final long SECOND_NS = 1_000_000_000;
    private static final int MAX_TIMERS = 10_000;
    /** Max time for the owner's callbacks to end, once for the failures of calls in flight, and once for all others. */
    private static final Duration END_LIMIT = Duration.ofSeconds(1);

    private final Provider owner;
    private final Brokers shared;
    private final OwnerThreads threads;
    private final InFlightCalls calls;
    private final Caller caller;
    private final Set<PeerSubscription> subscriptions = new LinkedHashSet<>(); // guarded by itself
    private final Set<PendingTimer> timers = new LinkedHashSet<>(); // guarded by itself
    private final OwnedGauges gauges;
    private final JoinedWorkers joined = new JoinedWorkers();
    private volatile String revoked = ""; // reason; empty while it is not

    OwnedBroker(Provider owner, Brokers shared) {
        this.owner = owner;
        this.shared = shared;
        Runnable failed = shared.charging(owner);
        this.threads = new OwnerThreads(owner, shared.host(), failed);
        this.calls = new InFlightCalls(failed);
        this.gauges = new OwnedGauges(owner, threads, shared.host().clock());
        this.caller = new OwnedCaller(shared.backend().caller(), this, calls);
    }

    /** Returns the bundle or program that this broker was made for. */
    public Provider owner() {
        return owner;
    }

    void requireOpen() {
        if (!revoked.isEmpty()) {
            throw new IllegalStateException(revoked);
        }
    }

    /** Returns why this broker was revoked; empty while it is not. */
    String whyRevoked() {
        return revoked;
    }

    @Override
    public Incarnation self() {
        requireOpen();
        return shared.backend().self();
    }

    @Override
    public Caller caller() {
        requireOpen();
        return caller;
    }

    @Override
    public Rpc rpc() {
        requireOpen();
        return new OwnedRpc(shared.backend().rpc(), this, calls);
    }

    @Override
    public List<Incarnation> peers() {
        requireOpen();
        shared.backend().readUnrecorded("the peers that Broker.peers() returned");
        return shared.backend().peers().stream()
                .filter(peer -> peer.state().isThere() && !shared.isSelf(peer))
                .map(Brokers::incarnationOf)
                .toList();
    }

    @Override
    public Subscription listen(PeerListener listener) {
        Objects.requireNonNull(listener);
        PeerSubscription subscription;
        synchronized (subscriptions) {
            requireOpen();
            if (subscriptions.size() >= MAX_SUBSCRIPTIONS) {
                throw new IllegalStateException(owner + " has " + MAX_SUBSCRIPTIONS
                        + " subscriptions, and at most as many" + " are possible; close those that are not needed");
            }
            subscription = new PeerSubscription(listener, shared, threads, this::ended);
            subscriptions.add(subscription);
        }
        subscription.changed();
        return subscription;
    }

    private void ended(PeerSubscription subscription) {
        synchronized (subscriptions) {
            subscriptions.remove(subscription);
        }
    }

    @Override
    public ScheduledTask schedule(Duration delay, Runnable task) {
        Objects.requireNonNull(task);
        long dueNs = shared.host().clock().monotonicNs() + nanos(delay);
        PendingTimer timer = new PendingTimer(task, dueNs, shared.timers(), threads, this::ended);
        synchronized (timers) {
            requireOpen();
            if (timers.size() >= MAX_TIMERS) {
                throw new IllegalStateException(owner + " has " + MAX_TIMERS
                        + " scheduled tasks, and at most as many are" + " possible; cancel those that are not needed");
            }
            timers.add(timer);
        }
        if (shared.backend().runsTimers()) {
            shared.timers().add(timer);
        }
        return timer;
    }

    private void ended(PendingTimer timer) {
        synchronized (timers) {
            timers.remove(timer);
        }
    }

    /** Converts a delay to nanoseconds. */
    private static long nanos(Duration delay) {
        if (delay.isNegative()) {
            return 0;
        }
        return delay.compareTo(Duration.ofNanos(Long.MAX_VALUE / 4)) > 0 ? Long.MAX_VALUE / 4 : delay.toNanos();
    }

    @Override
    public long nextId() {
        requireOpen();
        return shared.backend().nextId();
    }

    @Override
    public boolean mayWait() {
        requireOpen();
        return shared.backend().mayWait();
    }

    @Override
    public void await(Future<?> future) throws InterruptedException {
        if (!future.isDone()) { // calls in flight when this was revoked have failed
            requireOpen();
            shared.backend().await(future);
        }
    }

    @Override
    public InstantSource clock() {
        requireOpen();
        Clock clock = shared.host().clock();
        return () -> {
            shared.backend().readUnrecorded("the time of Broker.clock()");
            long wallNs = clock.wallNs();
            return Instant.ofEpochSecond(Math.floorDiv(wallNs, SECOND_NS), Math.floorMod(wallNs, SECOND_NS));
        };
    }

    @Override
    public Counter counter(String name) {
        requireOpen();
        return shared.counters().of(owner.name(), name);
    }

    @Override
    public Subscription gauge(String name, LongSupplier value) {
        return gauges.add(name, value, this::requireOpen);
    }

    OwnedGauges gauges() {
        return gauges;
    }

    @Override
    public StateStore state(String name) {
        requireOpen();
        return new OwnedState(this, shared.state(owner).table(name));
    }

    @Override
    public StateStore state(String name, StatePolicy policy) {
        requireOpen();
        StateTable table = shared.state(owner).table(name);
        table.policy(Objects.requireNonNull(policy));
        return new OwnedState(this, table);
    }

    @Override
    public TensorBuffers buffers() {
        requireOpen();
        return shared.backend().buffers();
    }

    @Override
    public Optional<ReplayRun> replay() {
        requireOpen();
        return shared.backend().replay();
    }

    @Override
    public Optional<Path> directory() {
        requireOpen();
        return shared.backend().directory();
    }

    @Override
    public JoinedWorker join(String name, OptionalInt id, List<String> keys, MessageHandler handler) {
        Objects.requireNonNull(handler);
        requireOpen();
        return joined.add(owner, () -> shared.backend().join(owner, name, id, keys, handler));
    }

    void look(boolean peersChanged, long nowNs) {
        List<PeerSubscription> all;
        synchronized (subscriptions) {
            all = new ArrayList<>(subscriptions);
        }
        for (PeerSubscription subscription : all) {
            if (peersChanged) {
                subscription.changed();
            } else {
                subscription.resume(); // for a subscription that found no thread
            }
        }
        threads.look(nowNs);
    }

    /**
     * Ends everything that the owner has: see {@link Broker}. Waits a limited time for running callbacks. Does nothing
     * when repeated.
     *
     * @param why end of a sentence, such as "the bundle has stopped"
     */
    public void revoke(String why) {
        List<PeerSubscription> listeners;
        List<PendingTimer> scheduled;
        synchronized (subscriptions) {
            synchronized (timers) {
                if (!revoked.isEmpty()) {
                    return;
                }
                revoked = "the Broker of " + owner + " is revoked: " + why;
                listeners = new ArrayList<>(subscriptions);
                scheduled = new ArrayList<>(timers);
            }
        }
        CloseSteps steps = new CloseSteps();
        listeners.forEach(each -> steps.attempt(each::close));
        scheduled.forEach(each -> steps.attempt(each::cancel));
        steps.attempt(gauges::close);
        joined.close(steps);
        steps.attempt(() -> calls.fail(revoked, threads, END_LIMIT)).attempt(this::endThreads);
        shared.forget(this);
        steps.finishUnchecked();
    }

    private void endThreads() {
        int left = threads.close(END_LIMIT);
        if (left > 0) {
            LOG.warn("{} leaves {} callbacks of its Broker behind that do not end", owner, left);
        }
    }
}
