package io.waybill.profiler.profile;

import java.util.List;
import java.util.Objects;

/**
 * Timed event in a profile. Immutable.
 *
 * @param name name in PyTorch's form: for a call {@code rpc_sync#aten::add(worker0 -> worker1)}; for its effects in the
 *     callee that name, {@value #REMOTE_OP} and the name there
 * @param parent index of its cause, which precedes it in the profile; {@value #NO_PARENT} for none
 * @param worker id of its worker
 * @param thread number of the thread among those of its request, from 0
 * @param device of its tensors, such as {@code cpu} or {@code cuda:0}
 * @param beginNs by the host's wall clock, in ns since 1970
 * @param durationNs duration, not negative; of an unfinished event, until the end of the profile
 * @param shapes sizes of its argument tensors, if they are recorded
 * @param memoryBytes size of its result tensors, if it is recorded; otherwise 0
 */
public record ProfileEvent(
        Kind kind,
        String name,
        int parent,
        int worker,
        int thread,
        String device,
        long beginNs,
        long durationNs,
        Outcome outcome,
        List<List<Long>> shapes,
        long memoryBytes) {

    /** Stands for an event without a cause. */
    public static final int NO_PARENT = -1;

    /** Separator between the name of a call and the name of its effect. */
    public static final String REMOTE_OP = "#remote_op: ";

    /** Kind of an event. */
    public enum Kind {
        /** A call at its caller. */
        CALL,
        /** A handler. */
        HANDLER,
        /** A scope that code has marked. */
        SCOPE,
        /** An operator that libtorch runs. */
        OPERATOR,
        /** A stage of a request before its handler: {@code waybill::journal} and others. */
        WAIT
    }

    /** Outcome of an event. */
    public enum Outcome {
        /** The event ended with a result. */
        DONE,
        /** The event ended with an error. */
        FAILED,
        /** The event did not end before the profile. */
        UNFINISHED
    }

    public ProfileEvent {
        Objects.requireNonNull(kind);
        Objects.requireNonNull(outcome);
        shapes = List.copyOf(shapes);
    }

    /** Returns the end of the event, in ns since 1970. */
    public long endNs() {
        return beginNs + durationNs;
    }

    /** Returns whether the event belongs to the callee of a call. */
    public boolean isRemote() {
        return name.contains(REMOTE_OP);
    }

    /** Returns the name without those of the calls that caused it. */
    public String ownName() {
        int remote = name.lastIndexOf(REMOTE_OP);
        return remote < 0 ? name : name.substring(remote + REMOTE_OP.length());
    }

    /** Returns the same event, for a list that follows other events. */
    public ProfileEvent movedBehind(int others) {
        return causedBy(parent == NO_PARENT ? NO_PARENT : parent + others);
    }

    /** Returns the same event, for a list in which its cause has another index. */
    ProfileEvent causedBy(int newParent) {
        return newParent == parent
                ? this
                : new ProfileEvent(
                        kind,
                        name,
                        newParent,
                        worker,
                        thread,
                        device,
                        beginNs,
                        durationNs,
                        outcome,
                        shapes,
                        memoryBytes);
    }

    /** Returns the same event, as the effect of a call. */
    public ProfileEvent causedBy(String key, int newParent, long shiftNs) {
        return new ProfileEvent(
                kind,
                key + REMOTE_OP + name,
                newParent,
                worker,
                thread,
                device,
                beginNs + shiftNs,
                durationNs,
                outcome,
                shapes,
                memoryBytes);
    }
}
