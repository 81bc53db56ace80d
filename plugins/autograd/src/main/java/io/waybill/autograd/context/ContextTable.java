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
 * Table of the contexts that this worker knows.
 *
 * <p>A late message of a released context does not create the context again: the ids of the last {@value #MAX_RELEASED}
 * released ones are kept for this purpose.
 *
 * <p><b>Threads.</b> Any.
 */
public final class ContextTable {

    private static final int MAX_RELEASED = 65_536;

    private final Map<Long, AutogradContext> contexts = new ConcurrentHashMap<>(); // written under this
    private final ReleasedIds released = new ReleasedIds(MAX_RELEASED); // guarded by this
    private final LongFunction<AutogradContext> creation;
    private volatile boolean handedOver; // set by the deactivating thread, read by threads that still use this version

    /** @param creation factory of a context with an id */
    public ContextTable(LongFunction<AutogradContext> creation) {
        this.creation = creation;
    }

    /** Records that the contexts now belong to the next version of this bundle. */
    void handOver() {
        handedOver = true;
    }

    /** Returns whether the next version of this bundle has the contexts. */
    public boolean isHandedOver() {
        return handedOver;
    }

    /**
     * Throws if the contexts belong to the next version of this bundle.
     *
     * @param what name of an object of this version
     * @param instead instruction for the user
     */
    public void requireHere(String what, String instead) {
        if (handedOver) {
            throw new IllegalStateException(
                    what + " belongs to a version of the autograd bundle that was updated or stopped: " + instead);
        }
    }

    /** Opens a context with a new id. */
    public synchronized AutogradContext open(long id) {
        AutogradContext opened = creation.apply(id);
        contexts.put(id, opened);
        return opened;
    }

    /**
     * Returns the context of a message, and creates it at the first one.
     *
     * @throws RejectedMessageException if it was released here
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

    /** Returns a context; empty if this worker has none. */
    public Optional<AutogradContext> find(long id) {
        return Optional.ofNullable(contexts.get(id));
    }

    /** Returns PyTorch's text for a missing context. */
    public static String missing(long id) {
        return "Could not find autograd context with id: " + id;
    }

    /**
     * Removes and returns a context, which the caller closes; empty if there is none. Later messages don't create it.
     */
    public synchronized Optional<AutogradContext> remove(long id) {
        released.add(id);
        return Optional.ofNullable(contexts.remove(id));
    }

    /** Adds a context of another version. */
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
