package io.waybill.testing.core;

import io.waybill.api.Caller;
import io.waybill.api.Rpc;
import io.waybill.api.WorkerInfo;
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
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Broker of a test, without a worker. Its clock stands still until {@link #advance}, which runs the tasks that become
 * due; its peers are those that the test makes {@linkplain #join join}, {@linkplain #lose lose} and
 * {@linkplain #leave leave}. Listeners and tasks are called on the thread of the test, which receives their exceptions.
 * Calls go to the {@link Caller} of the test; without one they throw, as does {@link #rpc()}.
 *
 * <p>For one thread. The limits, guards and threads of a worker are absent: a test with the bundle in a broker covers
 * them.
 */
public final class ManualBroker implements Broker {

    private final Caller caller; // null for none
    private final List<PeerListener> listeners = new ArrayList<>();
    private final List<Task> tasks = new ArrayList<>();
    private final Map<String, Incarnation> present = new LinkedHashMap<>();
    private final Map<String, Incarnation> known = new HashMap<>(); // the last incarnation of each name
    private final Map<String, Count> counters = new HashMap<>();
    private final Map<String, LongSupplier> gauges = new HashMap<>();
    private final Map<String, ManualStore> stores = new HashMap<>();
    private Duration elapsed = Duration.ZERO;
    private final TestBuffers buffers = new TestBuffers();
    private long lastId;
    private boolean isRevoked;

    /** A task until it runs or is cancelled. */
    private final class Task implements ScheduledTask {
        private final Duration due;
        private final Runnable work;

        Task(Duration due, Runnable work) {
            this.due = due;
            this.work = work;
        }

        @Override
        public boolean cancel() {
            return tasks.remove(this);
        }

        @Override
        public boolean isScheduled() {
            return tasks.contains(this);
        }
    }

    /** A counter. */
    private static final class Count implements Counter {
        private final LongAdder sum = new LongAdder();

        @Override
        public void increment() {
            sum.increment();
        }

        @Override
        public void add(long count) {
            if (count < 0) {
                throw new IllegalArgumentException("a counter only grows: " + count);
            }
            sum.add(count);
        }

        @Override
        public long sum() {
            return sum.sum();
        }
    }

    /** Creates a broker that can't call. */
    public ManualBroker() {
        this.caller = null;
    }

    /** Creates a broker whose calls go to a caller of the test. */
    public ManualBroker(Caller caller) {
        this.caller = Objects.requireNonNull(caller);
    }

    /** Moves the clock, and runs the tasks that become due, in their order and each at its time. */
    public void advance(Duration time) {
        Duration end = elapsed.plus(time);
        for (Optional<Task> next = nextUntil(end); next.isPresent(); next = nextUntil(end)) {
            elapsed = next.get().due;
            tasks.remove(next.get());
            next.get().work.run();
        }
        elapsed = end;
    }

    private Optional<Task> nextUntil(Duration end) {
        return tasks.stream()
                .filter(task -> task.due.compareTo(end) <= 0)
                .min(Comparator.comparing(task -> task.due)); // of equal ones the first
    }

    /** Returns the time since this was created, as the test advanced it. */
    public Duration elapsed() {
        return elapsed;
    }

    /** Returns the number of tasks that are scheduled. */
    public int scheduled() {
        return tasks.size();
    }

    /** Makes a worker join, or return as its next incarnation. */
    public Incarnation join(String name) {
        Incarnation previous = known.get(name);
        WorkerInfo worker = previous == null ? new WorkerInfo(known.size() + 1, name) : previous.worker();
        Incarnation joined = new Incarnation(worker, previous == null ? 1 : previous.epoch() + 1);
        known.put(name, joined);
        present.put(name, joined);
        notifyAll(listener -> {
            if (previous == null) {
                listener.joined(joined);
            } else {
                listener.restarted(joined, previous);
            }
        });
        return joined;
    }

    /** Ends the process of a live worker. */
    public void lose(String name) {
        Incarnation lost = take(name);
        notifyAll(listener -> listener.lost(lost));
    }

    /** Makes a live worker leave. */
    public void leave(String name) {
        Incarnation left = take(name);
        notifyAll(listener -> listener.left(left));
    }

    private Incarnation take(String name) {
        Incarnation taken = present.remove(name);
        if (taken == null) {
            throw new IllegalArgumentException("no peer " + name + " is there, but " + present.keySet());
        }
        return taken;
    }

    private void notifyAll(Consumer<PeerListener> event) {
        List.copyOf(listeners).forEach(event);
    }

    /** Revokes the broker, like the stop of its bundle: drops listeners and tasks; later uses throw. */
    public void revoke() {
        isRevoked = true;
        listeners.clear();
        tasks.clear();
        gauges.clear();
    }

    void requireOpen() {
        if (isRevoked) {
            throw new IllegalStateException("the Broker of the test is revoked");
        }
    }

    @Override
    public Incarnation self() {
        requireOpen();
        return new Incarnation(new WorkerInfo(0, "self"), 1);
    }

    @Override
    public Caller caller() {
        requireOpen();
        if (caller == null) {
            throw new UnsupportedOperationException("calls need a broker, or a Caller of the test");
        }
        return caller;
    }

    @Override
    public Rpc rpc() {
        throw new UnsupportedOperationException("remote references need a broker");
    }

    @Override
    public List<Incarnation> peers() {
        requireOpen();
        return List.copyOf(present.values());
    }

    @Override
    public Subscription listen(PeerListener listener) {
        requireOpen();
        listeners.add(Objects.requireNonNull(listener));
        List.copyOf(present.values()).forEach(listener::joined);
        return () -> listeners.remove(listener);
    }

    @Override
    public ScheduledTask schedule(Duration delay, Runnable task) {
        requireOpen();
        Task scheduled = new Task(elapsed.plus(delay), Objects.requireNonNull(task));
        tasks.add(scheduled);
        return scheduled;
    }

    @Override
    public long nextId() {
        requireOpen();
        return ++lastId;
    }

    /** Returns a clock that stands at 1970 plus the time of {@link #advance}. */
    @Override
    public InstantSource clock() {
        requireOpen();
        return () -> Instant.EPOCH.plus(elapsed);
    }

    @Override
    public boolean mayWait() {
        requireOpen();
        return true;
    }

    /** Throws unless the future is done, because only the test can complete it. */
    @Override
    public void await(Future<?> future) {
        requireOpen();
        if (!future.isDone()) {
            throw new IllegalStateException("a future that nothing completes while the test waits for it");
        }
    }

    @Override
    public Counter counter(String name) {
        requireOpen();
        return counters.computeIfAbsent(name, none -> new Count());
    }

    @Override
    public Subscription gauge(String name, LongSupplier value) {
        requireOpen();
        gauges.put(name, Objects.requireNonNull(value));
        return () -> gauges.remove(name, value);
    }

    /**
     * Calls the supplier of a gauge on this thread.
     *
     * @throws IllegalArgumentException if there is no gauge of the name
     */
    public long readGauge(String name) {
        LongSupplier gauge = gauges.get(name);
        if (gauge == null) {
            throw new IllegalArgumentException("expected one of the gauges " + gauges.keySet() + ", found " + name);
        }
        return gauge.getAsLong();
    }

    @Override
    public StateStore state(String name) {
        requireOpen();
        return stores.computeIfAbsent(name, none -> new ManualStore(name, this));
    }

    @Override
    public StateStore state(String name, StatePolicy policy) {
        ManualStore store = (ManualStore) state(name);
        store.policy(policy);
        return store;
    }

    @Override
    public TensorBuffers buffers() {
        return buffers;
    }

    /** Returns empty, because this broker is that of a worker. */
    @Override
    public Optional<ReplayRun> replay() {
        return Optional.empty();
    }

    /** Returns empty, because this broker has no home. */
    @Override
    public Optional<Path> directory() {
        return Optional.empty();
    }

    @Override
    public JoinedWorker join(String name, OptionalInt id, List<String> keys, MessageHandler handler) {
        throw new IllegalStateException("this broker has no home that " + name + " could join");
    }
}
