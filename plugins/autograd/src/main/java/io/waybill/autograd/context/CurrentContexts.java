package io.waybill.autograd.context;

import io.waybill.api.MessageId;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The context that a thread of a program is in, and those of the requests that are being handled: calls of both are wrapped.
 *
 * <p><b>Threads.</b> Any. A thread's context ends with {@link #leaveThread}, a request's with its response.
 */
public final class CurrentContexts {

    /** No context. */
    public static final long NONE = -1;

    private final ThreadLocal<Long> ofThread = new ThreadLocal<>();
    private final Map<Long, Long> ofRequest = new ConcurrentHashMap<>();

    /**
     * Returns the context of a call.
     *
     * @param parentId of the request whose handler makes it, or {@link MessageId#NONE}
     * @return {@link #NONE} when it is in none
     */
    public long find(long parentId) {
        Long found = parentId == MessageId.NONE || ofRequest.isEmpty() ? null : ofRequest.get(parentId);
        return found == null ? ofThread() : found;
    }

    /** Returns the context of this thread; {@link #NONE} when it is in none. */
    public long ofThread() {
        Long found = ofThread.get();
        return found == null ? NONE : found;
    }

    /** Makes a context that of this thread. */
    public void enterThread(long contextId) {
        ofThread.set(contextId);
    }

    /** Ends the context of this thread. */
    public void leaveThread() {
        ofThread.remove();
    }

    /** Makes a context that of the calls that a request's handler makes. */
    public void enterRequest(long requestId, long contextId) {
        ofRequest.put(requestId, contextId);
    }

    /** Ends the context of a request. */
    public void leaveRequest(long requestId) {
        ofRequest.remove(requestId);
    }
}
