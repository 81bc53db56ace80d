package io.waybill.metrics.otlp;

import io.waybill.api.ErrorCode;

/**
 * One side of a call, as a span of OpenTelemetry. Immutable.
 *
 * @param spanId on the callee's side the recorded id; on the caller's side its {@link #callerSideId}
 * @param parentId span from which the call was made
 * @param linkedId the recorded span, on the caller's side; 0 on the callee's
 * @param messageId of the request
 * @param peer id of the worker on the other side
 * @param operation the called operation
 * @param type of the request
 * @param bytes of the request's record
 * @param startNs wall clock
 * @param endNs wall clock
 * @param error null for none
 */
record ExportedSpan(
        long traceIdHigh,
        long traceIdLow,
        long spanId,
        long parentId,
        long linkedId,
        long messageId,
        int peer,
        String operation,
        String type,
        int bytes,
        long startNs,
        long endNs,
        ErrorCode error) {

    /** Odd factor, so that the product is a permutation. */
    private static final long FACTOR = 0x9e3779b97f4a7c15L;

    /** Returns the nonzero id of the caller's side for a call's span, always the same. */
    static long callerSideId(long spanId) {
        return spanId * FACTOR;
    }

    boolean isOfCaller() {
        return linkedId != 0;
    }

    /** Returns this span with an end. */
    ExportedSpan ended(long atNs, ErrorCode failure) {
        return new ExportedSpan(
                traceIdHigh,
                traceIdLow,
                spanId,
                parentId,
                linkedId,
                messageId,
                peer,
                operation,
                type,
                bytes,
                startNs,
                Math.max(startNs, atNs),
                failure);
    }
}
