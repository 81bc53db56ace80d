package io.waybill.profiler.message;

/**
 * Id of a recording: of a profile, or of a call in one.
 *
 * @param base of a profile from {@code Broker.nextId}; of a call that a request's handler makes, made of the id of the request, so that a replay makes the same
 *     ones
 * @param number of the call; 0 for the profile itself, and -1 for a request that its worker records for itself
 */
public record ProfilingId(long base, int number) {

    /** In the counter of an id that was made of a request's; {@code Broker.nextId} does not get there. */
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
