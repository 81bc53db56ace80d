package io.waybill.rref;

import io.waybill.api.CallException;
import io.waybill.rref.id.ForkId;
import io.waybill.rref.id.RRefId;
import java.util.ArrayList;
import java.util.List;

/**
 * Fork of another worker's value.
 *
 * <p><b>Threads.</b> The identity never changes; everything else is guarded by the {@link Gate}, and only {@link Users}
 * touches it.
 */
public final class UserReference implements Reference {

    /** State of the owner's confirmation. */
    enum State {
        PENDING,
        CONFIRMED,
        FAILED
    }

    /** The parent of a reference that this worker made itself. */
    static final int NO_PARENT = -1;

    private final int owner;
    private final RRefId id;
    private final ForkId fork;
    private final String type;

    /** The worker that shared it and still waits for its notification; {@link #NO_PARENT} without one. */
    int awaitingParent;

    final boolean created;
    State state = State.PENDING;
    int ownerEpoch;
    int handles = 1;
    /** Number of values of this worker's that hold it. */
    int inValues;

    int children;
    /** Set while its owner has ended, and may return with the value. */
    boolean orphan;
    /** Epoch of the owner to which a fork request is in flight; 0 for none. */
    int requestedOf;
    /** Set when the owner has no fork of this name, so that no worker need be notified of the end. */
    boolean unknownToOwner;

    boolean ended;
    CallException failure; // null unless FAILED
    private List<Runnable> whenCompleted = new ArrayList<>(2);

    UserReference(int owner, int ownerEpoch, RRefId id, ForkId fork, String type, int parent) {
        this.owner = owner;
        this.ownerEpoch = ownerEpoch;
        this.id = id;
        this.fork = fork;
        this.type = type;
        this.awaitingParent = parent;
        this.created = parent == NO_PARENT;
    }

    @Override
    public RRefId id() {
        return id;
    }

    public ForkId fork() {
        return fork;
    }

    @Override
    public int owner() {
        return owner;
    }

    @Override
    public String type() {
        return type;
    }

    /** Returns the number of handles, and of values that contain it. */
    int holds() {
        return handles + inValues;
    }

    boolean isCompleted() {
        return state != State.PENDING && !orphan;
    }

    void whenCompleted(Runnable notified) {
        whenCompleted.add(notified);
    }

    List<Runnable> takeListeners() {
        List<Runnable> taken = whenCompleted;
        whenCompleted = new ArrayList<>(2);
        return taken;
    }

    /** Returns PyTorch's text form. */
    @Override
    public String toString() {
        return "UserRRef(RRefId = " + id + ", ForkId = " + fork + ")";
    }
}
