package io.waybill.profiler.record;

import io.waybill.profiler.profile.ProfileEvent;
import io.waybill.profiler.profile.ProfilerConfig;
import java.util.ArrayList;
import java.util.List;

/**
 * A range of the server-wide profiler: the events of all requests that a worker serves while the range is open.
 *
 * <p><b>Threads.</b> Any.
 */
public final class ServerRange {

    private static final int MAX_EVENTS = 100_000;

    private final ProfilerConfig config;
    // guarded by this
    private final List<ProfileEvent> events = new ArrayList<>();
    private long dropped;
    private boolean isClosed;

    ServerRange(ProfilerConfig config) {
        this.config = config;
    }

    ProfilerConfig config() {
        return config;
    }

    /**
     * Adds the events of a request, whose causes are all among them. A request that ends after the range is omitted.
     */
    synchronized void add(List<ProfileEvent> request, long requestDropped) {
        if (isClosed) {
            return;
        }
        dropped += requestDropped;
        if (events.size() + request.size() > MAX_EVENTS) {
            dropped += request.size();
            return;
        }
        int first = events.size();
        request.forEach(event -> events.add(event.movedBehind(first)));
    }

    /** Returns the events so far. */
    public synchronized List<ProfileEvent> events() {
        return List.copyOf(events);
    }

    /** Returns the number of events for which there was no room. */
    public synchronized long dropped() {
        return dropped;
    }

    synchronized void close() {
        isClosed = true;
    }
}
