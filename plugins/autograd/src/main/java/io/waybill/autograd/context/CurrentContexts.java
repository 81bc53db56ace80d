package io.waybill.autograd.context;

import io.waybill.api.context.CallContext;
import io.waybill.api.context.ContextScope;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Current context of a thread: a value in its {@link CallContext}, which accompanies its calls to their handlers, and
 * their nested calls.
 *
 * <p><b>Threads.</b> Any.
 */
public final class CurrentContexts {

    /** Stands for no context. */
    public static final long NONE = -1;

    /** The name of the value: the id, 8 bytes, big-endian. */
    static final String NAME = "waybill-autograd";

    private final Map<Long, ContextScope> opened = new ConcurrentHashMap<>();

    /** Returns the context of this thread; {@link #NONE} if it is in none. */
    public long find() {
        CallContext current = CallContext.current();
        return current.isEmpty()
                ? NONE
                : current.bytes(NAME)
                        .filter(bytes -> bytes.remaining() == Long.BYTES)
                        .map(ByteBuffer::getLong)
                        .orElse(NONE);
    }

    /** Makes a context the current one of this thread, until {@link #leave}. */
    public void enter(long contextId) {
        byte[] id = ByteBuffer.allocate(Long.BYTES).putLong(contextId).array();
        opened.put(contextId, CallContext.current().with(NAME, id).makeCurrent());
    }

    /** Reverts {@link #enter} on the calling thread. */
    public void leave(long contextId) {
        ContextScope scope = opened.remove(contextId);
        try {
            if (scope != null) {
                scope.close();
            }
        } catch (IllegalStateException e) {
            // the opening thread still has it: its id is stale, and the next opened context replaces it
        }
        if (find() == contextId) { // opened by an earlier version of this bundle
            CallContext.current().without(NAME).makeCurrent();
        }
    }
}
