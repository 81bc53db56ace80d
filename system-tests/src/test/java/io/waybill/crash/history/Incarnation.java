package io.waybill.crash.history;

import java.util.HashMap;
import java.util.Map;

/** What the log of one incarnation of a worker says of the incarnation itself. Filled while the log is read, by one thread. */
final class Incarnation {

    final String worker;
    final int number;
    /** -1 until it joined. */
    int id = -1;

    long epoch;
    boolean ended;
    /** Calls without an outcome when it had waited for the last ones. */
    long open;
    /** When it wrote the last line about a call or a request; 0 for never. */
    long lastAtNs;

    private long nextNumber;
    private final Map<Long, Integer> refused = new HashMap<>();

    Incarnation(String worker, int number) {
        this.worker = worker;
        this.number = number;
    }

    void take(Event event) {
        switch (event.kind()) {
            case JOINED -> {
                id = (int) event.id();
                epoch = event.number();
            }
            case ENDED -> {
                ended = true;
                open = event.number();
            }
            case SENT -> nextNumber = event.number() + 1;
            case REFUSED -> {
                nextNumber = event.number() + 1;
                refused.put(event.number(), event.code());
            }
            default -> {
                // of a message
            }
        }
        if (event.kind() != Event.Kind.ENDED) {
            lastAtNs = Math.max(lastAtNs, event.atNs());
        }
    }

    /** Whether it may have made a call of this number without a line in its log: it was killed in between. */
    boolean mayHaveSent(long callNumber) {
        return !ended && callNumber == nextNumber;
    }

    /** With what error the call was refused; 0 when it was not. */
    int refusal(long callNumber) {
        return refused.getOrDefault(callNumber, 0);
    }

    @Override
    public String toString() {
        return worker + " in life " + number + " (generation " + epoch + ")";
    }
}
