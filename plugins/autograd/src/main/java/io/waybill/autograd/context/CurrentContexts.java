package io.waybill.autograd.context;

import io.waybill.api.context.CallContext;
import io.waybill.api.context.ContextScope;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The context that a thread is in: a value in its {@link CallContext}, which goes with its calls to their handlers, and with the calls that those
 * make.
 *
 * <p><b>Threads.</b> Any.
 */
public final class CurrentContexts {

    /** No context. */
    public static final long NONE = -1;

    /** The name of the value: the id, 8 bytes, big-endian. */
    static final String NAME = "waybill-autograd";

    private final Map<Long, ContextScope> opened = new ConcurrentHashMap<>();

    /** Returns the context of this thread; {@link #NONE} when it is in none. */
    public long find() {
        CallContext current = CallContext.current();
        return current.isEmpty()
                ? NONE
                : current.bytes(NAME)
                        .filter(bytes -> bytes.remaining() == Long.BYTES)
                        .map(ByteBuffer::getLong)
                        .orElse(NONE);
    }

    /** Makes a context that of this thread, until it {@linkplain #leave leaves} it. */
    public void enter(long contextId) {
        byte[] id = ByteBuffer.allocate(Long.BYTES).putLong(contextId).array();
        opened.put(contextId, CallContext.current().with(NAME, id).makeCurrent());
    }

    /** Ends that; on another thread it has no effect on this one. */
    public void leave(long contextId) {
        ContextScope scope = opened.remove(contextId);
        try {
            if (scope != null) {
                scope.close();
            }
        } catch (IllegalStateException e) {
            // the thread that opened it has it still: there the id is stale, and the next one that is opened replaces
            // it
        }
        if (find() == contextId) { // opened by an earlier version of this bundle
            CallContext.current().without(NAME).makeCurrent();
        }
    }
}
