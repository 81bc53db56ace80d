package io.waybill.rref;

import io.waybill.host.Clock;
import java.util.PriorityQueue;

/** A clock that goes on to the next event, in one thread. */
final class SimulatedTime implements Clock {

    private record Event(long dueNs, long order, Runnable action) implements Comparable<Event> {
        @Override
        public int compareTo(Event other) {
            int byTime = Long.compare(dueNs, other.dueNs);
            return byTime != 0 ? byTime : Long.compare(order, other.order);
        }
    }

    private final PriorityQueue<Event> queue = new PriorityQueue<>();
    private long nowNs = 1;
    private long order;

    void in(long delayNs, Runnable action) {
        queue.add(new Event(nowNs + delayNs, order++, action));
    }

    boolean isEmpty() {
        return queue.isEmpty();
    }

    long nextNs() {
        return queue.isEmpty() ? Long.MAX_VALUE : queue.peek().dueNs();
    }

    void advanceTo(long toNs) {
        nowNs = Math.max(nowNs, toNs);
    }

    void runNext() {
        Event event = queue.poll();
        advanceTo(event.dueNs());
        event.action().run();
    }

    @Override
    public long monotonicNs() {
        return nowNs;
    }

    @Override
    public long bootNs() {
        return nowNs;
    }

    @Override
    public long wallNs() {
        return nowNs;
    }
}
