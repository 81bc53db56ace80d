package io.waybill.tensor;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Carries released loans from a receiver to its sender, and remembers them. Thread-safe. */
final class ReturnedLoans implements ReleasedLoans, LoanReturns {

    private final int receiver;
    private final Map<Integer, List<Long>> waiting = new HashMap<>();
    final List<Long> all = new ArrayList<>();

    ReturnedLoans(int receiver) {
        this.receiver = receiver;
    }

    @Override
    public synchronized void released(int sender, long loanId) {
        all.add(loanId);
        claim(receiver, loanId);
    }

    /** Puts a claim into the way that this receiver's loans go. */
    synchronized void claim(int claimant, long loanId) {
        waiting.computeIfAbsent(claimant, key -> new ArrayList<>()).add(loanId);
    }

    @Override
    public synchronized void poll(int polled, LoanSink sink) {
        List<Long> its = waiting.remove(polled);
        if (its != null) {
            its.forEach(id -> sink.released(polled, id));
        }
    }

    synchronized int count() {
        return all.size();
    }
}
