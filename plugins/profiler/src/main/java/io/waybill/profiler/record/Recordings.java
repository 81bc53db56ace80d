package io.waybill.profiler.record;

import io.waybill.api.tensor.Tensor;
import io.waybill.profiler.message.ProfilingId;
import io.waybill.profiler.profile.ProfileEvent.Kind;
import io.waybill.profiler.profile.ProfileEvent.Outcome;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The recordings of a worker that are not closed: profiles of its programs and bundles, and profiled calls that it serves.
 *
 * <p><b>Threads.</b> Any.
 */
public final class Recordings {

    private final Map<ProfilingId, Recording> open = new ConcurrentHashMap<>();
    private volatile boolean isAny; // written under the lock of this; read by each call

    /** Adds one. One with the same id, of an earlier attempt of the same call, stays in its place. */
    public synchronized void add(Recording recording) {
        open.putIfAbsent(recording.id(), recording);
        isAny = true;
    }

    /** Removes one. */
    public synchronized void remove(Recording recording) {
        open.remove(recording.id(), recording);
        isAny = !open.isEmpty();
    }

    /** Returns whether there may be something to record. */
    public boolean isAny() {
        return isAny;
    }

    /** Returns the number of open recordings. */
    public int size() {
        return open.size();
    }

    /** Begins an event inside the one that the calling thread is in; null when it is in none of a recording that is open here. */
    public OpenEvent begin(Kind kind, Named named, List<Tensor> tensors) {
        CurrentEvent around = isAny ? CurrentEvent.find() : null;
        Recording recording = around == null ? null : open.get(around.recording());
        if (recording == null) {
            return null;
        }
        String name = named.name();
        return new OpenEvent(recording, recording.begin(kind, name, around.event(), tensors), name);
    }

    /** Names an event that is recorded. */
    @FunctionalInterface
    public interface Named {

        String name();
    }

    /** An event until its end. */
    public record OpenEvent(Recording recording, int index, String name) {

        public void end(Outcome outcome, List<Tensor> results) {
            recording.end(index, outcome, results);
        }

        /** Returns the event, for the threads that are inside of it. */
        public CurrentEvent current() {
            return new CurrentEvent(recording.id(), index);
        }
    }
}
