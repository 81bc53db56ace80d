package io.waybill.broker;

import io.waybill.api.broker.Subscription;
import io.waybill.dispatch.Provider;
import io.waybill.host.Clock;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gauges of one owner, with the values that their suppliers returned last.
 *
 * <p><b>Threads.</b> Thread-safe. One task on the owner's threads calls the suppliers one after the other. While one
 * does not return, the next task calls the others.
 */
final class OwnedGauges {

    static final int MAX = 64;
    /** Max exceptions of a supplier in a row, after which its gauge is closed. */
    static final int MAX_FAILURES = 10;
    /** Max age of a value: three times the interval at which a worker at rest reads them. */
    static final long MAX_AGE_NS = 15_000_000_000L;

    private static final Logger LOG = LoggerFactory.getLogger(OwnedGauges.class);

    private final Provider owner;
    private final OwnerThreads threads;
    private final Clock clock;
    private final Map<String, Gauge> byName = new LinkedHashMap<>(); // guarded by itself

    OwnedGauges(Provider owner, OwnerThreads threads, Clock clock) {
        this.owner = owner;
        this.threads = threads;
        this.clock = clock;
    }

    /**
     * Adds a gauge, in place of one of its name.
     *
     * @param requireOpen throws once {@link #close} may have been called
     */
    Subscription add(String name, LongSupplier supplier, Runnable requireOpen) {
        NamedCounters.requireName("gauge", name);
        Gauge added = new Gauge(name, Objects.requireNonNull(supplier));
        synchronized (byName) {
            requireOpen.run();
            if (byName.size() >= MAX && !byName.containsKey(name)) {
                throw new IllegalStateException(owner + " has " + MAX + " gauges, and at most as many are possible: "
                        + name + " is not added; close those that are not needed");
            }
            Gauge before = byName.put(name, added);
            if (before != null) {
                before.supplier = null;
            }
        }
        return added;
    }

    private List<Gauge> all() {
        synchronized (byName) {
            return List.copyOf(byName.values());
        }
    }

    /** Puts the present values, as {@code owner:name}, and has the suppliers called for the next ones. */
    void read(Map<String, Long> values) {
        List<Gauge> all = all();
        if (all.isEmpty()) {
            return;
        }
        long nowNs = clock.monotonicNs();
        for (Gauge gauge : all) {
            Reading last = gauge.last;
            if (last != null && nowNs - last.atNs <= MAX_AGE_NS) {
                values.put(owner.name() + ":" + gauge.name, last.value);
            }
        }
        threads.run(() -> all().forEach(Gauge::call)); // without a thread the values grow old
    }

    /** Drops all gauges. */
    void close() {
        all().forEach(Gauge::close);
    }

    private record Reading(long value, long atNs) {}

    private final class Gauge implements Subscription {
        private final String name;
        private final AtomicBoolean inside = new AtomicBoolean(); // whether a thread calls the supplier
        private int failures; // in a row; by the thread inside
        private volatile LongSupplier supplier; // null once it is closed
        private volatile Reading last; // written by the thread inside, read by the publishing one; null for none

        Gauge(String name, LongSupplier supplier) {
            this.name = name;
            this.supplier = supplier;
        }

        void call() {
            LongSupplier called = supplier;
            if (called == null || !inside.compareAndSet(false, true)) {
                return;
            }
            try {
                failures++;
                threads.call("gauge " + name, called, () -> {
                    last = new Reading(called.getAsLong(), clock.monotonicNs());
                    failures = 0;
                });
                if (failures > 0) {
                    last = null;
                }
                if (failures == MAX_FAILURES) {
                    close();
                    LOG.warn("The gauge {} of {} is closed: it failed {} times in a row", name, owner, MAX_FAILURES);
                }
            } finally {
                inside.set(false);
            }
        }

        @Override
        public void close() {
            supplier = null;
            synchronized (byName) {
                byName.remove(name, this);
            }
        }
    }
}
