package io.waybill.replay.recording;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Requests of one caller that were read before their responses, oldest first. Above a limit the oldest are dropped. One
 * thread.
 */
final class HeldRequests {

    static final int MAX_REQUESTS = 1 << 16;

    private final long maxBytes;
    private final Map<Long, PendingRequest> byCounter = new LinkedHashMap<>();
    private long bytes;
    private long lastDropped = -1;

    HeldRequests(long maxBytes) {
        this.maxBytes = maxBytes;
    }

    /**
     * Adds a request.
     *
     * @param counter greater than all previous ones
     */
    void add(long counter, PendingRequest request) {
        byCounter.put(counter, request);
        bytes += request.bytes();
        while (byCounter.size() > MAX_REQUESTS || bytes > maxBytes && byCounter.size() > 1) {
            lastDropped = byCounter.keySet().iterator().next();
            take(lastDropped);
        }
    }

    /** Removes and returns a request; null if it is not held. */
    PendingRequest take(long counter) {
        PendingRequest request = byCounter.isEmpty() ? null : byCounter.remove(counter);
        bytes -= request == null ? 0 : request.bytes();
        return request;
    }

    /** Returns whether a request may have been held and dropped. */
    boolean mayHaveDropped(long counter) {
        return counter <= lastDropped;
    }

    void clear() {
        byCounter.clear();
        bytes = 0;
    }
}
