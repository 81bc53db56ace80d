package io.waybill.profiler.profile;

import java.util.List;
import java.util.Objects;

/**
 * One thing that took time. Immutable.
 *
 * @param name as PyTorch names it: a call {@code rpc_sync#aten::add(worker0 -> worker1)}, and what it caused in its callee that name,
 *     {@value #REMOTE_OP} and the name there
 * @param parent index of the event that caused it, which is before it in the profile; {@value #NO_PARENT} for none
 * @param worker id of the worker that it happened in
 * @param thread number of the thread among those of its request, from 0
 * @param device of its tensors, such as {@code cpu} or {@code cuda:0}
 * @param beginNs by the host's wall clock, in ns since 1970
 * @param durationNs not negative; of one that has not ended, until the profile did
 * @param shapes sizes of the tensors that it was given, if they are recorded
 * @param memoryBytes of the tensors that it returned, if that is recorded; otherwise 0
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

    /** No event caused it. */
    public static final int NO_PARENT = -1;

    /** Stands between the name of a call and the name of what it caused. */
    public static final String REMOTE_OP = "#remote_op: ";

    /** What it is. */
    public enum Kind {
        /** A call, as its caller sees it. */
        CALL,
        /** A handler. */
        HANDLER,
        /** What code marked as a scope. */
        SCOPE,
        /** An operator that libtorch runs. */
        OPERATOR,
        /** What a request went through before its handler: {@code waybill::journal} and others. */
        WAIT
    }

    /** How it ended. */
    public enum Outcome {
        /** With a result. */
        DONE,
        /** With an error. */
        FAILED,
        /** Not before the profile. */
        UNFINISHED
    }

    public ProfileEvent {
        Objects.requireNonNull(kind);
        Objects.requireNonNull(outcome);
        shapes = List.copyOf(shapes);
    }

    /** Returns when it ended, in ns since 1970. */
    public long endNs() {
        return beginNs + durationNs;
    }

    /** Returns whether it happened in the callee of a call. */
    public boolean isRemote() {
        return name.contains(REMOTE_OP);
    }

    /** Returns the name without those of the calls that caused it. */
    public String ownName() {
        int remote = name.lastIndexOf(REMOTE_OP);
        return remote < 0 ? name : name.substring(remote + REMOTE_OP.length());
    }

    /** Returns the same event, as one of a list that begins behind others. */
    public ProfileEvent movedBehind(int others) {
        return causedBy(parent == NO_PARENT ? NO_PARENT : parent + others);
    }

    /** Returns the same event, as one of a list in which the event that caused it has another index. */
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

    /** Returns the same event, as one that a call caused. */
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
