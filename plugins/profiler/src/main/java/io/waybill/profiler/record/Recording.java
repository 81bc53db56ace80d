package io.waybill.profiler.record;

import io.waybill.api.handler.RequestArrival;
import io.waybill.api.tensor.Tensor;
import io.waybill.profiler.message.ProfilingId;
import io.waybill.profiler.profile.ProfileEvent;
import io.waybill.profiler.profile.ProfileEvent.Kind;
import io.waybill.profiler.profile.ProfileEvent.Outcome;
import io.waybill.profiler.profile.ProfilerConfig;
import io.waybill.profiler.profile.ProfilerState;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The events of one profile, or of one profiled call at its callee. An event is identified by its index in the order of
 * starts.
 *
 * <p><b>Threads.</b> Any. A closed recording ignores events.
 */
public final class Recording {

    /** Index of an event for which there was no room, or that began after the end. */
    static final int NOT_RECORDED = -2;

    private static final int MAX_EVENTS = 100_000;
    private static final String CPU = "cpu";
    private static final String STAGE = "waybill::";
    private static final long SECOND_NS = 1_000_000_000;

    private final ProfilingId id;
    private final long callBase;
    private final ProfilerConfig config;
    private final int worker;
    private final InstantSource clock;
    private final InstantSource otherClock;
    private final boolean isLocal;
    // all guarded by this
    private final List<ProfileEvent> events = new ArrayList<>();
    private final Map<Long, Integer> threads = new HashMap<>(); // numbers, by id
    private int calls;
    private int dispatch = NOT_RECORDED;
    private long dropped;
    private boolean isClosed;

    /**
     * Creates a recording without events.
     *
     * @param callBase base of the ids of its calls
     * @param clock clock of a handler, recorded for its replay; may become unavailable before the end
     * @param otherClock clock that replaces it then
     */
    public Recording(
            ProfilingId id,
            long callBase,
            ProfilerConfig config,
            int worker,
            InstantSource clock,
            InstantSource otherClock) {
        this(id, callBase, config, worker, clock, otherClock, false);
    }

    private Recording(
            ProfilingId id,
            long callBase,
            ProfilerConfig config,
            int worker,
            InstantSource clock,
            InstantSource otherClock,
            boolean isLocal) {
        this.id = id;
        this.callBase = callBase;
        this.config = config;
        this.worker = worker;
        this.clock = clock;
        this.otherClock = otherClock;
        this.isLocal = isLocal;
    }

    /** Creates the recording of a request that its worker records for itself. */
    static Recording ofServed(ProfilingId id, ProfilerConfig config, int worker, InstantSource clock) {
        return new Recording(id, id.base(), config, worker, clock, clock, true);
    }

    /** Returns whether it contains only events of this worker, so that callees of its calls do not record. */
    public boolean isLocal() {
        return isLocal;
    }

    public ProfilingId id() {
        return id;
    }

    public ProfilerConfig config() {
        return config;
    }

    /** Returns the id of the next call. */
    public synchronized ProfilingId nextCall() {
        return new ProfilingId(callBase, ++calls);
    }

    /**
     * Begins an event.
     *
     * @param parent index of the cause; an unknown one counts as none
     * @param tensors arguments of the event
     */
    public int begin(Kind kind, String name, int parent, List<Tensor> tensors) {
        return begin(kind, name, parent, device(tensors), config.reportInputShapes() ? shapes(tensors) : List.of());
    }

    private synchronized int begin(Kind kind, String name, int parent, String device, List<List<Long>> shapes) {
        if (isClosed) {
            return NOT_RECORDED;
        }
        long nowNs = nowNs();
        if (dispatch >= 0 && kind == Kind.HANDLER) {
            events.set(dispatch, ended(events.get(dispatch), Outcome.DONE, nowNs, 0));
            dispatch = NOT_RECORDED;
        }
        if (isFull(1)) {
            return NOT_RECORDED;
        }
        events.add(new ProfileEvent(
                kind,
                name,
                known(parent),
                worker,
                kind == Kind.WAIT // the thread that dispatches is the handler's in a replay
                        ? 0
                        : threads.computeIfAbsent(Thread.currentThread().getId(), added -> threads.size()),
                device,
                nowNs,
                0,
                Outcome.UNFINISHED,
                shapes,
                0));
        return events.size() - 1;
    }

    /** Adds the stages of the request before its handler, except those of zero duration. */
    synchronized void arrived(RequestArrival arrival) {
        waited("journal", arrival.sentNs(), arrival.readNs());
        waited("parking", arrival.readNs(), arrival.unparkedNs());
        waited("references", arrival.unparkedNs(), arrival.confirmedNs());
        waited("thread", arrival.confirmedNs(), arrival.begunNs());
        waited("conversion", arrival.begunNs(), arrival.convertedNs());
    }

    private void waited(String stage, long beginNs, long endNs) {
        waited(stage, ProfileEvent.NO_PARENT, 0, beginNs, endNs);
    }

    private void waited(String stage, int parent, int thread, long beginNs, long endNs) {
        if (endNs > beginNs && !isClosed && !isFull(1)) {
            events.add(new ProfileEvent(
                    Kind.WAIT,
                    STAGE + stage,
                    parent,
                    worker,
                    thread,
                    CPU,
                    beginNs,
                    endNs - beginNs,
                    Outcome.DONE,
                    List.of(),
                    0));
        }
    }

    /** Starts the wait for the handler of the inner message. */
    synchronized void dispatched() {
        dispatch = begin(Kind.WAIT, STAGE + "dispatch", ProfileEvent.NO_PARENT, List.of());
    }

    /**
     * Begins the event of an operator. An operator with the name of its handler shares that handler's event.
     *
     * @param shapes sizes of its tensors; empty unless they are recorded
     * @return the index, possibly of a handler's event, which only the handler ends
     */
    public synchronized int beginOperator(String name, int parent, List<List<Long>> shapes) {
        int outer = known(parent);
        if (outer >= 0
                && events.get(outer).kind() == Kind.HANDLER
                && events.get(outer).name().equals(name)) {
            return outer;
        }
        return begin(Kind.OPERATOR, name, parent, CPU, shapes);
    }

    /** Ends the event of an operator. */
    public synchronized void endOperator(int index) {
        if (index >= 0 && events.get(index).kind() == Kind.OPERATOR) {
            end(index, Outcome.DONE, List.of());
        }
    }

    /** Ends an event. Idempotent. */
    public synchronized void end(int index, Outcome outcome, List<Tensor> results) {
        if (isClosed || index < 0 || events.get(index).outcome() != Outcome.UNFINISHED) {
            return;
        }
        events.set(
                index, ended(events.get(index), outcome, nowNs(), config.profileMemory() ? memoryBytes(results) : 0));
    }

    private static ProfileEvent ended(ProfileEvent begun, Outcome outcome, long atNs, long memoryBytes) {
        return new ProfileEvent(
                begun.kind(),
                begun.name(),
                begun.parent(),
                begun.worker(),
                begun.thread(),
                begun.device(),
                begun.beginNs(),
                Math.max(0, atNs - begun.beginNs()),
                outcome,
                begun.shapes(),
                memoryBytes);
    }

    /**
     * Adds the effects of a call at its callee, and the caller's waits before and after them. If the callee's times are
     * not within those of the call, they are shifted by the small difference of the two processes' clocks.
     *
     * @param call index of the call, which has ended
     * @param remote events, each one after its cause
     */
    public synchronized void add(int call, List<ProfileEvent> remote, long remoteDropped) {
        dropped += remoteDropped;
        if (isClosed || call < 0 || remote.isEmpty()) {
            return;
        }
        ProfileEvent caller = events.get(call);
        long beginNs = Long.MAX_VALUE;
        long endNs = Long.MIN_VALUE;
        for (ProfileEvent event : remote) {
            beginNs = Math.min(beginNs, event.beginNs());
            endNs = Math.max(endNs, event.endNs());
        }
        long shiftNs = shiftNs(caller, beginNs, endNs);
        waited("send", call, caller.thread(), caller.beginNs(), beginNs + shiftNs);
        int first = events.size();
        for (int i = 0; i < remote.size() && !isFull(remote.size() - i); i++) {
            int parent = remote.get(i).parent();
            events.add(remote.get(i)
                    .causedBy(caller.name(), parent == ProfileEvent.NO_PARENT ? call : first + parent, shiftNs));
        }
        waited("response", call, caller.thread(), endNs + shiftNs, caller.endNs());
    }

    private static long shiftNs(ProfileEvent caller, long beginNs, long endNs) {
        if (beginNs >= caller.beginNs() && endNs <= caller.endNs()) {
            return 0;
        }
        return beginNs < caller.beginNs()
                ? caller.beginNs() - beginNs
                : Math.max(caller.beginNs() - beginNs, caller.endNs() - endNs);
    }

    private boolean isFull(int more) {
        if (events.size() < MAX_EVENTS) {
            return false;
        }
        dropped += more;
        return true;
    }

    private int known(int parent) {
        return parent >= 0 && parent < events.size() ? parent : ProfileEvent.NO_PARENT;
    }

    /** Closes the recording. Ends all open events. */
    public synchronized List<ProfileEvent> close() {
        if (!isClosed) {
            long nowNs = events.isEmpty() ? 0 : nowNs();
            isClosed = true;
            for (int i = 0; i < events.size(); i++) {
                ProfileEvent event = events.get(i);
                if (event.outcome() == Outcome.UNFINISHED && event.durationNs() == 0) {
                    events.set(i, ended(event, Outcome.UNFINISHED, nowNs, 0));
                }
            }
        }
        return List.copyOf(events);
    }

    /** Returns the number of events for which there was no room. */
    public synchronized long dropped() {
        return dropped;
    }

    private long nowNs() {
        Instant now;
        try {
            now = clock.instant();
        } catch (IllegalStateException e) { // the request has its outcome
            now = otherClock.instant();
        }
        return now.getEpochSecond() * SECOND_NS + now.getNano();
    }

    private String device(List<Tensor> tensors) {
        return config.state() == ProfilerState.CUDA && !tensors.isEmpty()
                ? tensors.get(0).device().toString()
                : CPU;
    }

    private static List<List<Long>> shapes(List<Tensor> tensors) {
        return tensors.stream()
                .map(tensor -> Arrays.stream(tensor.sizes()).boxed().toList())
                .toList();
    }

    private static long memoryBytes(List<Tensor> tensors) {
        return tensors.stream()
                .mapToLong(tensor -> tensor.elementCount() * tensor.dtype().sizeBytes())
                .sum();
    }
}
