package io.waybill.profiler.record;

import io.waybill.api.Message;
import io.waybill.api.handler.RequestArrival;
import io.waybill.api.tensor.Tensor;
import io.waybill.profiler.message.ProfilingId;
import io.waybill.profiler.profile.ProfileEvent;
import io.waybill.profiler.profile.ProfileEvent.Kind;
import io.waybill.profiler.profile.ProfilerConfig;
import io.waybill.profiler.profile.ProfilerState;
import io.waybill.profiler.record.Recordings.OpenEvent;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The open ranges of the server-wide profiler of a worker. Each request that begins while some are open is recorded,
 * without its caller, and its events go to all of them when it ends.
 *
 * <p><b>Threads.</b> Any.
 */
public final class ServerRanges {

    private static final ServerRange[] NONE = {};

    private final Recordings recordings;
    private final int worker;
    private final InstantSource clock;
    private final Set<ServedRequest> inFlight = ConcurrentHashMap.newKeySet();
    private volatile ServerRange[] open = NONE; // written under the lock of this; read by each request

    /** @param worker id of this one */
    public ServerRanges(Recordings recordings, int worker, InstantSource clock) {
        this.recordings = recordings;
        this.worker = worker;
        this.clock = clock;
    }

    /** Recorded request, with the ranges that were open at its start. */
    public record ServedRequest(Recording recording, ServerRange[] ranges) {

        /** Begins the event of its handler. */
        public OpenEvent begin(String name, List<Tensor> tensors, RequestArrival arrival) {
            OpenEvent event =
                    new OpenEvent(recording, recording.begin(Kind.HANDLER, name, ProfileEvent.NO_PARENT, tensors));
            recording.arrived(arrival);
            return event;
        }
    }

    /** Opens a range in addition to the open ones. */
    public synchronized ServerRange begin(ProfilerConfig config) {
        ServerRange range = new ServerRange(config);
        open = Arrays.copyOf(open, open.length + 1);
        open[open.length - 1] = range;
        return range;
    }

    /** Closes a range. Idempotent. */
    public synchronized void end(ServerRange range) {
        range.close();
        open = Arrays.stream(open).filter(each -> each != range).toArray(ServerRange[]::new);
        if (open.length == 0) { // of requests whose end does not come, too
            inFlight.forEach(this::forget);
        }
    }

    /** Returns whether any range may be open. */
    public boolean isAny() {
        return open.length > 0;
    }

    /** Returns the number of requests that are being recorded for ranges. */
    public int inFlight() {
        return inFlight.size();
    }

    /** Starts recording a request; null if no range is open. */
    public ServedRequest begin(Message message) {
        ServerRange[] ranges = open;
        if (ranges.length == 0) {
            return null;
        }
        ServedRequest request = new ServedRequest(
                Recording.ofServed(ProfilingId.ofServed(message.id()), merged(ranges), worker, clock), ranges);
        inFlight.add(request);
        recordings.add(request.recording);
        if (open.length == 0) { // the last one was closed meanwhile, and did not see this request
            forget(request);
        }
        return request;
    }

    /** Returns the ranges that are open. */
    ServerRange[] open() {
        return open;
    }

    private static ProfilerConfig merged(ServerRange[] ranges) {
        return new ProfilerConfig(
                ProfilerState.CPU,
                Arrays.stream(ranges).anyMatch(range -> range.config().reportInputShapes()),
                Arrays.stream(ranges).anyMatch(range -> range.config().profileMemory()));
    }

    /** Ends a request that was recorded only for its ranges. */
    public void end(ServedRequest request) {
        forget(request);
        Recording recording = request.recording;
        add(request.ranges, recording.close(), recording.dropped());
    }

    private void forget(ServedRequest request) {
        inFlight.remove(request);
        recordings.remove(request.recording);
    }

    /** Adds the events of a request to ranges. */
    static void add(ServerRange[] ranges, List<ProfileEvent> events, long dropped) {
        for (ServerRange range : ranges) {
            range.add(events, dropped);
        }
    }
}
