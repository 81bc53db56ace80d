package io.waybill.crash;

import io.waybill.api.MessageId;
import io.waybill.api.event.CallEvent;
import io.waybill.api.event.CallEvents;
import io.waybill.worker.Worker;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/** Whether each call of a caller that was appended ends once, as a listener sees it. Thread-safe. */
final class PairedEvents implements CallEvents {

    /** Option of a process with a planted bug, which the checker has to find by itself. */
    static final String NOT_REQUIRED = "-Dwaybill.crash.unpaired=true";

    private static final long LIMIT_NS = TimeUnit.SECONDS.toNanos(20);

    private final Map<Long, Integer> open = new ConcurrentHashMap<>(); // by id: appended, less ended

    /** Adds one to a worker. */
    static PairedEvents of(Worker worker) {
        PairedEvents events = new PairedEvents();
        worker.events().add("crash 1.0.0", events);
        return events;
    }

    @Override
    public void onEvent(CallEvent event) {
        switch (event.kind()) {
            case APPENDED -> count(event.id(), 1);
            case ENDED -> count(event.id(), -1);
            default -> {
                // of the calls that it serves
            }
        }
    }

    private void count(long id, int change) {
        open.merge(id, change, (before, more) -> before + more == 0 ? null : before + more);
    }

    /**
     * Waits until the events of the last calls were delivered.
     *
     * @throws IllegalStateException when one is missing, or there is one more
     */
    void requirePairs() {
        if (Boolean.getBoolean("waybill.crash.unpaired")) {
            return;
        }
        long untilNs = System.nanoTime() + LIMIT_NS;
        while (!open.isEmpty() && System.nanoTime() < untilNs) {
            CrashRun.pass(10);
        }
        open.forEach((id, count) -> {
            throw new IllegalStateException("call " + MessageId.text(id) + " was appended "
                    + (count > 0 ? "more" : "less") + " often than it ended, one of " + open.size() + " such calls");
        });
    }
}
