package io.waybill.rref;

import io.waybill.api.CallException;
import io.waybill.rref.id.ForkId;
import io.waybill.rref.id.RRefId;
import io.waybill.rref.status.Holder;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reference to a value that this worker owns, or that is expected to be created here.
 *
 * <p><b>Threads.</b> The identity never changes; everything else is guarded by the {@link Gate}, and only
 * {@link Owners} touches it.
 */
public final class OwnerReference implements Reference {

    /** State of the value. */
    enum State {
        /** Other workers know of the value, and its creation has not begun here. */
        AWAITED,
        CREATING,
        COMPLETED
    }

    private final int owner;
    private final RRefId id;
    private final String type;

    final Map<ForkId, Holder> forks = new LinkedHashMap<>(4);
    final List<ValueWaiter> waiters = new ArrayList<>(2);
    final List<Runnable> whenCompleted = new ArrayList<>(2);
    State state;
    OwnedValue value; // null until SETTLED, and when it failed or was closed
    CallException failure; // null unless it failed
    CallException unusable; // null unless its own creation here failed, or it arrived when its value was gone
    int handles;
    /** Number of fetches that are reading the value. */
    int readers;

    boolean inTable;
    /** Set when the worker closes, and others had forks. */
    boolean closesForNow;
    /** While AWAITED: the incarnation of its creator that was known at the first message about it. */
    int creatorEpoch;
    /** Set once the request that this worker sent to itself has begun. */
    boolean begunHere;

    OwnerReference(int owner, RRefId id, String type, State state) {
        this.owner = owner;
        this.id = id;
        this.type = type;
        this.state = state;
    }

    @Override
    public RRefId id() {
        return id;
    }

    @Override
    public int owner() {
        return owner;
    }

    @Override
    public String type() {
        return type;
    }

    /** Returns PyTorch's text form. */
    @Override
    public String toString() {
        return "OwnerRRef(" + id + ")";
    }
}
