package io.waybill.worker.call;

import io.waybill.api.context.CallContext;
import io.waybill.api.context.TraceContext;

/**
 * Ids of the spans that calls are: a permutation of the message id, so that no two calls of a worker have the same in a trace. Workers of other
 * homes, which have the same message ids, differ by when they joined.
 *
 * <p>Immutable.
 */
final class SpanIds {

    private final long salt;

    /** @param joinedNs wall clock */
    SpanIds(long joinedNs) {
        this.salt = mixed(joinedNs);
    }

    /** Returns the id of the span of a call; 0 for none. */
    long of(long messageId, CallContext context) {
        TraceContext trace = context.trace().orElse(null);
        return trace == null ? 0 : of(messageId, trace);
    }

    /** Returns the id of the span of a call; not 0. */
    long of(long messageId, TraceContext trace) {
        long id = mixed(messageId ^ salt ^ trace.traceIdLow());
        return id == 0 ? 1 : id;
    }

    /** Returns a permutation of all values, in which each bit depends on all others (that of SplitMix64). */
    private static long mixed(long value) {
        long z = value + 0x9e3779b97f4a7c15L;
        z = (z ^ z >>> 30) * 0xbf58476d1ce4e5b9L;
        z = (z ^ z >>> 27) * 0x94d049bb133111ebL;
        return z ^ z >>> 31;
    }
}
