package io.waybill.autograd.context;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongFunction;

/**
 * The contexts that this worker knows of.
 *
 * <p>A message of a context that was released here comes too late, and does not create it from scratch: the ids of the last {@value
 * #MAX_RELEASED} are kept for that.
 *
 * <p><b>Threads.</b> Any.
 */
public final class ContextTable {

    private static final int MAX_RELEASED = 65_536;

    private final Map<Long, AutogradContext> contexts = new ConcurrentHashMap<>(); // written under this
    private final ReleasedIds released = new ReleasedIds(MAX_RELEASED); // guarded by this
    private final LongFunction<AutogradContext> creation;
    private volatile boolean
            handedOver; // set by the thread that deactivates, read by those that still use this version

    /** @param creation makes a context with this id */
    public ContextTable(LongFunction<AutogradContext> creation) {
        this.creation = creation;
    }

    /** Notes that the next version of this bundle takes the contexts over. */
    void handOver() {
        handedOver = true;
    }

    /** Returns whether the next version of this bundle has the contexts. */
    public boolean isHandedOver() {
        return handedOver;
    }

    /**
     * Throws when the next version of this bundle has the contexts.
     *
     * @param what belongs to this version
     * @param instead what to do
     */
    public void requireHere(String what, String instead) {
        if (handedOver) {
            throw new IllegalStateException(
                    what + " belongs to a version of the autograd bundle that was updated or stopped: " + instead);
        }
    }

    /** Opens a context with an id that no other has. */
    public synchronized AutogradContext open(long id) {
        AutogradContext opened = creation.apply(id);
        contexts.put(id, opened);
        return opened;
    }

    /**
     * Returns the context of a message, created at the first one.
     *
     * @throws RejectedMessageException when it was released here
     */
    public AutogradContext arrive(long id) throws RejectedMessageException {
        AutogradContext found = contexts.get(id);
        return found == null ? create(id) : found;
    }

    private synchronized AutogradContext create(long id) throws RejectedMessageException {
        if (released.contains(id)) {
            throw new RejectedMessageException(ErrorCode.REFUSED, missing(id));
        }
        AutogradContext found = contexts.get(id);
        return found == null ? open(id) : found;
    }

    /** Returns a context; empty when there is none here. */
    public Optional<AutogradContext> find(long id) {
        return Optional.ofNullable(contexts.get(id));
    }

    /** Returns PyTorch's text for a context that is not here. */
    public static String missing(long id) {
        return "Could not find autograd context with id: " + id;
    }

    /** Takes a context out; empty when there is none here, and later messages of it don't create it. The caller ends it. */
    public synchronized Optional<AutogradContext> remove(long id) {
        released.add(id);
        return Optional.ofNullable(contexts.remove(id));
    }

    /** Adds a context that another version had. */
    synchronized void add(AutogradContext context) {
        contexts.put(context.id(), context);
    }

    synchronized void addReleased(long id) {
        released.add(id);
    }

    synchronized List<Long> releasedIds() {
        return released.all();
    }

    /** Returns all contexts. */
    public List<AutogradContext> all() {
        return new ArrayList<>(contexts.values());
    }
}
