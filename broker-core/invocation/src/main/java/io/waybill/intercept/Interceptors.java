package io.waybill.intercept;

import io.waybill.dispatch.Drained;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.ProviderErrors;
import io.waybill.host.Clock;
import io.waybill.host.Threads;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Registry of the interceptors of one kind. Every change publishes a new {@link InterceptorTable}.
 *
 * <p><b>Threads.</b> Any.
 *
 * @param <T> the kind of interceptor
 */
public final class Interceptors<T> {

    private final OptionalMethods<T> methods;
    private final Clock clock;
    private final Threads threads;
    private final ProviderErrors errors;
    private final List<Runnable> listeners = new CopyOnWriteArrayList<>();
    private final Object lock = new Object();
    private final List<InterceptorEntry<T>> present = new ArrayList<>(); // guarded by lock; in the order of their calls
    private final Set<InterceptorEntry<T>> draining = new LinkedHashSet<>(); // guarded by lock
    private final Set<String> replaced = new HashSet<>(); // names of providers, guarded by lock
    private volatile InterceptorTable<T> table = new InterceptorTable<>(List.of());

    /** Registration of an interceptor. Thread-safe. */
    public interface Registration {

        /**
         * Withdraws the interceptor, so that new calls bypass it, and waits until the calls that it began have ended.
         * Calls of requests in flight may begin with it until none is in flight, or half of the limit has passed. After
         * the limit it is called no more. A second call only waits again.
         */
        Drained withdraw(Duration limit);

        InterceptorStatus status();
    }

    /**
     * Creates a registry.
     *
     * @param outcomes optional methods of the kind of interceptor
     */
    Interceptors(OptionalMethods<T> methods, Clock clock, Threads threads, ProviderErrors errors) {
        this.methods = methods;
        this.clock = clock;
        this.threads = threads;
        this.errors = errors;
    }

    /** Adds an interceptor: calls that begin from now on pass it. */
    public Registration add(InterceptorSpec<T> spec) {
        InterceptorEntry<T> entry = new InterceptorEntry<>(spec, methods, errors);
        synchronized (lock) {
            present.add(entry);
            present.sort(Comparator.<InterceptorEntry<T>>comparingInt(InterceptorEntry::ranking)
                    .reversed()
                    .thenComparing(InterceptorEntry::name)); // the sort is stable
            publish();
        }
        changed();
        return new Stay(entry);
    }

    /**
     * Announces that a provider is about to be replaced. Until {@link #replaced}, its interceptors that
     * {@linkplain AwayPolicy#PARK park} stay in the table: a message that they concern waits for the next version. A
     * message that a request in flight may wait for begins with them until they have left, because its provider may
     * wait for the end of that request.
     */
    public void replacing(String provider) {
        synchronized (lock) {
            replaced.add(provider);
            present.stream()
                    .filter(entry -> entry.parks() && entry.providerName().equals(provider))
                    .forEach(InterceptorEntry::withdraw);
        }
    }

    /**
     * Ends {@link #replacing}: all interceptors that were added in the meantime replace the withdrawn ones, at once,
     * also those of providers that depend on this one and stopped with it.
     */
    public void replaced(String provider) {
        synchronized (lock) {
            replaced.remove(provider);
            if (present.removeIf(entry -> entry.isWithdrawn()
                    && (replaced.isEmpty() || entry.providerName().equals(provider)))) {
                publish();
            }
        }
        changed();
    }

    /** Calls {@code listener} after every change, on the thread that made it. It must be quick. */
    public void onChange(Runnable listener) {
        listeners.add(listener);
    }

    private void changed() {
        listeners.forEach(Runnable::run);
    }

    /** Returns whether requests of a key wait for an interceptor that is being replaced. */
    public boolean isAway(HandlerKey key) {
        InterceptorTable<T> now = table;
        InterceptorChain<T> chain = now.isEmpty() ? null : now.find(key);
        return chain != null && chain.isAway();
    }

    private void publish() {
        table = new InterceptorTable<>(present);
    }

    /** Returns the current interceptors. One volatile read. */
    public InterceptorTable<T> table() {
        return table;
    }

    /** Returns the status of each interceptor, in the order of their calls, followed by the leaving ones. */
    public List<InterceptorStatus> statuses() {
        synchronized (lock) {
            List<InterceptorStatus> statuses = new ArrayList<>();
            present.forEach(entry -> statuses.add(entry.status()));
            draining.stream().filter(entry -> !present.contains(entry)).forEach(entry -> statuses.add(entry.status()));
            return statuses;
        }
    }

    private final class Stay implements Registration {

        private final InterceptorEntry<T> entry;

        Stay(InterceptorEntry<T> entry) {
            this.entry = entry;
        }

        @Override
        public Drained withdraw(Duration limit) {
            long nowNs = clock.monotonicNs();
            long untilNs = nowNs + limit.toNanos();
            synchronized (lock) {
                draining.add(entry);
                boolean isAwaited = entry.parks() && !replaced.isEmpty(); // also of providers that depend on it
                if (!isAwaited && present.remove(entry)) {
                    publish();
                }
                entry.withdraw(); // after publishing: a call that the entry refuses finds another table, or waits
                // for one
            }
            changed();
            entry.awaitDrained(clock, threads, nowNs + limit.toNanos() / 2);
            entry.leave();
            long left = entry.awaitDrained(clock, threads, untilNs); // calls that began between the two
            entry.giveUp();
            synchronized (lock) {
                draining.remove(entry);
            }
            return left == 0 ? Drained.DRAINED : Drained.timedOut(left);
        }

        @Override
        public InterceptorStatus status() {
            return entry.status();
        }
    }
}
