package io.waybill.broker;

import io.waybill.api.broker.Counter;
import java.util.HashMap;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.regex.Pattern;

/** Counters by owner and name, which stay when their owner goes. Thread-safe. */
final class NamedCounters {

    private static final int MAX_PER_OWNER = 257; // one is the worker's own
    private static final Pattern NAME = Pattern.compile("[a-z0-9._-]{1,64}");

    private final Map<String, Map<String, Adding>> byOwner = new HashMap<>(); // guarded by itself

    static void requireName(String what, String name) {
        if (!NAME.matcher(name).matches()) {
            throw new IllegalArgumentException(
                    "the name of a " + what + " is 1 to 64 of a-z 0-9 . - _, and not " + name);
        }
    }

    Counter of(String owner, String name) {
        requireName("counter", name);
        synchronized (byOwner) {
            Map<String, Adding> ofOwner = byOwner.get(owner);
            if (ofOwner == null) {
                ofOwner = new HashMap<>();
                byOwner.put(owner, ofOwner);
            }
            Adding counter = ofOwner.get(name);
            if (counter == null) {
                if (ofOwner.size() >= MAX_PER_OWNER) {
                    throw new IllegalStateException(
                            owner + " has " + (MAX_PER_OWNER - 1) + " counters, and at most as many are possible");
                }
                counter = new Adding();
                ofOwner.put(name, counter);
            }
            return counter;
        }
    }

    SortedMap<String, Long> sums() {
        SortedMap<String, Long> sums = new TreeMap<>();
        synchronized (byOwner) {
            for (Map.Entry<String, Map<String, Adding>> owner : byOwner.entrySet()) {
                for (Map.Entry<String, Adding> counter : owner.getValue().entrySet()) {
                    sums.put(
                            owner.getKey() + "/" + counter.getKey(),
                            counter.getValue().sum());
                }
            }
        }
        return sums;
    }

    private static final class Adding implements Counter {
        private final LongAdder count = new LongAdder();

        @Override
        public void increment() {
            count.increment();
        }

        @Override
        public void add(long more) {
            if (more < 0) {
                throw new IllegalArgumentException("a counter only grows: " + more);
            }
            count.add(more);
        }

        @Override
        public long sum() {
            return count.sum();
        }
    }
}
