package io.waybill.profiler.record;

import io.waybill.api.context.ContextScope;
import io.waybill.api.tensor.Tensor;
import io.waybill.profiler.message.ProfilingId;
import io.waybill.profiler.profile.ProfileEvent.Kind;
import io.waybill.profiler.profile.ProfileEvent.Outcome;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Open recordings of a worker: profiles of its programs and bundles, and profiled calls that it serves.
 *
 * <p><b>Threads.</b> Any.
 */
public final class Recordings {

    /** Index of the handler's event in the recording of a request. */
    private static final int HANDLER = 0;

    private final Map<ProfilingId, Recording> open = new ConcurrentHashMap<>();
    private volatile boolean isAny; // written under the lock of this; read by each call

    /**
     * Current event of a thread in a recording of this worker only: not in the context, which calls carry to other
     * workers. Uses no type of this bundle.
     */
    private final ThreadLocal<long[]> local = new ThreadLocal<>();

    /** Adds a recording. An existing one with the same id, of an earlier attempt of the same call, is kept instead. */
    public synchronized void add(Recording recording) {
        open.putIfAbsent(recording.id(), recording);
        isAny = true;
    }

    /** Removes a recording. */
    public synchronized void remove(Recording recording) {
        open.remove(recording.id(), recording);
        isAny = !open.isEmpty();
    }

    /** Returns whether any recording may be open. */
    public boolean isAny() {
        return isAny;
    }

    /** Returns the number of open recordings. */
    public int size() {
        return open.size();
    }

    /** Begins an event inside the current one of the calling thread; null if there is none in an open recording. */
    public OpenEvent begin(Kind kind, Named named, List<Tensor> tensors) {
        return begin(current(), kind, named, tensors);
    }

    /**
     * Begins an event that belongs to a request that this worker serves.
     *
     * @param request id of the request; {@code MessageId.NONE} for a program's event
     */
    public OpenEvent begin(long request, Kind kind, Named named, List<Tensor> tensors) {
        return begin(current(request), kind, named, tensors);
    }

    private static OpenEvent begin(OpenEvent around, Kind kind, Named named, List<Tensor> tensors) {
        return around == null
                ? null
                : new OpenEvent(around.recording, around.recording.begin(kind, named.name(), around.index, tensors));
    }

    /** Returns the current event of the calling thread; null if there is none in an open recording. */
    public OpenEvent current() {
        if (!isAny) {
            return null;
        }
        OpenEvent around = opened(CurrentEvent.find());
        return around == null ? opened(CurrentEvent.of(local.get())) : around;
    }

    private OpenEvent current(long request) {
        if (!isAny) {
            return null;
        }
        OpenEvent around = opened(CurrentEvent.find());
        if (around != null) {
            return around;
        }
        ProfilingId served = ProfilingId.ofServed(request);
        CurrentEvent inThread = CurrentEvent.of(local.get());
        if (inThread != null && !inThread.recording().equals(served)) {
            local.remove(); // of an earlier request, which ended in another thread
            inThread = null;
        }
        return opened(inThread == null ? new CurrentEvent(served, HANDLER) : inThread);
    }

    private OpenEvent opened(CurrentEvent event) {
        Recording recording = event == null ? null : open.get(event.recording());
        return recording == null ? null : new OpenEvent(recording, event.event());
    }

    /** Makes an event the current one of the calling thread. */
    public Entered enter(OpenEvent event) {
        CurrentEvent current = event.current();
        if (!event.recording.isLocal()) {
            return new Entered(current.enter());
        }
        long[] outer = local.get();
        long[] inner = current.numbers();
        local.set(inner);
        return new Entered(() -> {
            if (local.get() != inner) {
                return; // another thread: what stays in the first one counts no more when the recording is closed
            }
            if (outer == null) {
                local.remove();
            } else {
                local.set(outer);
            }
        });
    }

    /** Current event of a thread, until it is left. */
    public static final class Entered {

        private final ContextScope scope; // null for a recording of this worker only, and if there was no room
        private final Runnable leave; // null for all others

        private Entered(ContextScope scope) {
            this.scope = scope;
            this.leave = null;
        }

        private Entered(Runnable leave) {
            this.scope = null;
            this.leave = leave;
        }

        /** Leaves the event. Has no effect on a thread that did not enter it. */
        public void leave() {
            CurrentEvent.leave(scope);
            if (leave != null) {
                leave.run();
            }
        }
    }

    /** Source of the name of a recorded event. */
    @FunctionalInterface
    public interface Named {

        String name();
    }

    /** Open event of a recording. */
    public record OpenEvent(Recording recording, int index) {

        public void end(Outcome outcome, List<Tensor> results) {
            recording.end(index, outcome, results);
        }

        /** Returns the event, for the threads that are inside of it. */
        public CurrentEvent current() {
            return new CurrentEvent(recording.id(), index);
        }
    }
}
