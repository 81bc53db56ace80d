package io.waybill.tensor;

import io.waybill.tensor.segment.LeaseSink;
import io.waybill.tensor.segment.ReleasedLeases;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Carries released leases from a receiver to its sender, and remembers them. Thread-safe. */
final class ReturnedLeases implements ReleasedLeases, LeaseReturns {

    private final int receiver;
    private final Map<Integer, List<Long>> waiting = new HashMap<>();
    final List<Long> all = new ArrayList<>();
    private int reads;

    ReturnedLeases(int receiver) {
        this.receiver = receiver;
    }

    @Override
    public synchronized void released(int sender, long leaseId) {
        all.add(leaseId);
        claim(receiver, leaseId);
    }

    /** Puts a claim into the way that this receiver's leases go. */
    synchronized void claim(int claimant, long leaseId) {
        waiting.computeIfAbsent(claimant, key -> new ArrayList<>()).add(leaseId);
    }

    @Override
    public synchronized void poll(int polled, LeaseSink sink) {
        reads++;
        List<Long> its = waiting.remove(polled);
        if (its != null) {
            its.forEach(id -> sink.released(polled, id));
        }
    }

    /** How often a receiver was asked for what it had released. */
    synchronized int reads() {
        return reads;
    }

    synchronized int count() {
        return all.size();
    }
}
