package io.waybill.rref;

import io.waybill.host.Clock;
import java.util.PriorityQueue;

/** Timers of a worker's references. Guarded by the {@link Gate}; they fire when a thread calls {@link #ring}. */
final class Alarms {

    private record Alarm(long dueNs, long order, Runnable action) implements Comparable<Alarm> {
        @Override
        public int compareTo(Alarm other) {
            int byTime = Long.compare(dueNs, other.dueNs);
            return byTime != 0 ? byTime : Long.compare(order, other.order);
        }
    }

    private final Clock clock;
    private final PriorityQueue<Alarm> queue = new PriorityQueue<>();
    private long order;
    // Written under the lock, read by the thread that checks whether a timer is due.
    private volatile long nextDueNs = Long.MAX_VALUE;

    Alarms(Clock clock) {
        this.clock = clock;
    }

    long nowNs() {
        return clock.monotonicNs();
    }

    void in(long delayNs, Runnable action) {
        long nowNs = nowNs();
        long dueNs = delayNs > Long.MAX_VALUE - nowNs ? Long.MAX_VALUE : nowNs + delayNs;
        queue.add(new Alarm(dueNs, order++, action));
        nextDueNs = queue.peek().dueNs();
    }

    /** Returns when the next timer is due; {@link Long#MAX_VALUE} for never. By any thread. */
    long nextDueNs() {
        return nextDueNs;
    }

    void ring() {
        long nowNs = nowNs();
        while (!queue.isEmpty() && queue.peek().dueNs() <= nowNs) {
            queue.poll().action().run();
        }
        nextDueNs = queue.isEmpty() ? Long.MAX_VALUE : queue.peek().dueNs();
    }

    void clear() {
        queue.clear();
        nextDueNs = Long.MAX_VALUE;
    }
}
