package io.waybill.profiler.message;

/**
 * Id of a recording: of a profile, or of a call in one.
 *
 * @param base for a profile an id from {@code Broker.nextId}; for a call of a handler derived from the id of the
 *     request, so that a replay has the same ids
 * @param number of the call; 0 for the profile itself, and -1 for a request that its worker records for itself
 */
public record ProfilingId(long base, int number) {

    /** Bit in the counter of an id that is derived from a request's id; {@code Broker.nextId} never reaches it. */
    private static final long OF_REQUEST = 1L << 47;

    private static final int SERVED = -1;

    /** Returns the id of a request that is recorded for the worker that serves it. */
    public static ProfilingId ofServed(long requestId) {
        return new ProfilingId(baseOf(requestId), SERVED);
    }

    /** Returns the base of the calls that the handler of a request makes. */
    public static long baseOf(long requestId) {
        return requestId | OF_REQUEST;
    }
}
