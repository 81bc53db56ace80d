package io.waybill.home;

import io.waybill.home.cursor.Cursors;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Succession of a worker that leaves in order: the next worker of its name continues the requests that it had not
 * begun. The leaving worker shows in its {@code worker.json} until when it may be succeeded, and its successor from
 * which epoch on it continues. Callers and the successor decide from these two whether a request still runs.
 *
 * <p>Immutable. <b>Units.</b> Nanoseconds on CLOCK_BOOTTIME, which all processes of a host share until it boots again.
 */
public final class Succession {

    /** Key in the settings of a worker that has left: until when it may be succeeded. */
    static final String UNTIL = "succeededUntil";

    /** Key in the settings of a worker that continues others: the epoch of the first of these. */
    static final String FROM = "continuesFrom";

    /**
     * Time that callers wait beyond the limit for a successor to show itself; it does so within half of that, or does
     * not continue.
     */
    public static final long GRACE_NS = 1_000_000_000L;

    private static final long NONE = 0;

    private final long firstEpoch;
    private final long ownEpoch;
    private final long untilNs; // the latest moment to show itself; NONE when it continues none

    private Succession(long firstEpoch, long ownEpoch, long untilNs) {
        this.firstEpoch = firstEpoch;
        this.ownEpoch = ownEpoch;
        this.untilNs = untilNs;
    }

    /** Returns the succession of a worker that continues none. */
    static Succession none(long ownEpoch) {
        return new Succession(ownEpoch, ownEpoch, NONE);
    }

    /**
     * Decides which incarnations a joining worker continues.
     *
     * @param previous last record of the name
     * @param own first record of the worker
     * @param nowNs time of the decision
     */
    static Succession of(Optional<WorkerRecord> previous, WorkerRecord own, Cursors.Origin cursors, long nowNs) {
        if (previous.isEmpty()) {
            return none(own.epoch());
        }
        WorkerRecord last = previous.get();
        long untilNs = until(last);
        boolean continues = nowNs <= untilNs
                && cursors == Cursors.Origin.KEPT // they show which requests were begun
                && last.epoch() == own.epoch() - 1
                && last.process().bootId().equals(own.process().bootId());
        return continues ? new Succession(firstEpochOf(last), own.epoch(), untilNs) : none(own.epoch());
    }

    /** Returns whether it is too late for a worker to show itself now: its callers may have timed out. */
    boolean isTooLate(long nowNs) {
        return untilNs != NONE && nowNs > untilNs + GRACE_NS / 2;
    }

    /**
     * Returns the epoch of the first incarnation whose requests this one runs if they were not begun; its own epoch
     * when it continues none.
     */
    public long firstEpoch() {
        return firstEpoch;
    }

    /** Returns these settings with the entries of a worker that is there. */
    Map<String, String> shownWith(Map<String, String> settings) {
        Map<String, String> shown = new LinkedHashMap<>(settings);
        if (firstEpoch < ownEpoch) {
            shown.put(FROM, Long.toString(firstEpoch));
        }
        return shown;
    }

    /** Returns these settings with the entries of a worker that leaves. */
    Map<String, String> leftUntil(Map<String, String> settings, long succeededUntilNs) {
        Map<String, String> shown = shownWith(settings);
        shown.put(UNTIL, Long.toString(succeededUntilNs));
        return shown;
    }

    /** Returns the time until which a worker that has left may be succeeded; 0 for not at all. */
    public static long until(WorkerRecord left) {
        return left.state() == WorkerState.LEFT ? number(left, UNTIL, NONE) : NONE;
    }

    /** Returns the epoch of the first incarnation that a worker continues; its own epoch when it continues none. */
    public static long firstEpochOf(WorkerRecord record) {
        return number(record, FROM, record.epoch());
    }

    /** Parses a number that another process wrote. */
    private static long number(WorkerRecord record, String key, long otherwise) {
        String text = record.settings().get(key);
        if (text == null || !text.matches("[0-9]{1,18}")) {
            return otherwise;
        }
        return Long.parseLong(text);
    }
}
