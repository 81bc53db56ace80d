package io.waybill.home;

import io.waybill.home.identity.Groups;
import io.waybill.home.identity.Reachability;
import io.waybill.host.ProcessIdentity;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Record that a worker publishes about itself, in {@code worker.json}; {@code docs/reference/worker-json.md} describes
 * its fields. Readers skip fields that they do not know. Immutable.
 */
public record WorkerRecord(
        int id,
        String name,
        WorkerState state,
        ProcessIdentity process,
        long joinedAtMs,
        String version,
        String javaVersion,
        long epoch,
        List<String> serves,
        List<String> atLeastOnce,
        Reachability reachability,
        Groups groups,
        Map<String, String> settings) {

    /** Key in {@link #settings} of a worker that serves no requests; its value is {@link #CALLS_ONLY}. */
    public static final String ROLE = "role";

    /** Name of the file with the record, which each change of it replaces. */
    public static final String FILE = "worker.json";

    /** Value of {@link #ROLE}: the worker sends requests and reads none. */
    public static final String CALLS_ONLY = "calls-only";

    /** Key in {@link #settings}: the faults that the worker injects. Absent when it injects none. */
    public static final String INJECTS = "injects";

    /** Key in {@link #settings}: the part of the worker's journal that a power failure may destroy. */
    public static final String DURABILITY = "durability";

    /** Key in {@link #settings}: the reader that keeps the worker from removing journal files that are due. */
    public static final String RETENTION = "retention";

    /**
     * Key in {@link #settings}: the keys whose handlers are gone, separated by blanks; requests for them parked when
     * this was published.
     */
    public static final String PARKS = "parks";

    /** Key in {@link #settings}: the files of the worker's journal that were missing when it joined. */
    public static final String LOST = "lost";

    public WorkerRecord {
        serves = List.copyOf(serves);
        atLeastOnce = List.copyOf(atLeastOnce);
        settings = Collections.unmodifiableMap(new LinkedHashMap<>(settings));
    }

    WorkerRecord with(WorkerState newState, Served newServed, Map<String, String> newSettings) {
        return new WorkerRecord(
                id,
                name,
                newState,
                process,
                joinedAtMs,
                version,
                javaVersion,
                epoch,
                newServed.keys(),
                newServed.atLeastOnce(),
                reachability,
                groups,
                newSettings);
    }

    /** Returns a copy with the settings of a worker that continues others. */
    WorkerRecord shown(Succession succession) {
        return with(state, served(), succession.shownWith(settings));
    }

    /** Returns whether the worker sends requests and reads none. */
    public boolean onlyCalls() {
        return CALLS_ONLY.equals(settings.get(ROLE));
    }

    /** Returns the published handlers. */
    Served served() {
        return new Served(serves, atLeastOnce);
    }
}
