package io.waybill.query.timeline;

import io.waybill.query.StoredCall;

/**
 * One bar of a {@link CallTimeline}. Immutable.
 *
 * @param worker id of the worker that it belongs to
 * @param track number among the tracks of the worker, from 0; a span within another one of the same track was caused by
 *     it
 * @param depth number of spans around it in its track
 * @param beginNs by the wall clock, in ns since 1970
 * @param endNs not before the begin; of a call without an outcome, the end of the timeline
 */
public record CallSpan(Kind kind, StoredCall call, int worker, int track, int depth, long beginNs, long endNs) {

    /** Side of a call. */
    public enum Kind {
        /** The caller's: from sending the request to its outcome. */
        CALL,
        /** The receiver's: from the begin of the handler to the response. */
        HANDLER
    }

    /**
     * Returns whether the begin is the handler's; a handler that begins immediately, on the poller, does not record it.
     */
    public boolean isBeginOnRecord() {
        return kind == Kind.CALL || call.response().orElseThrow().begunNs() != 0;
    }
}
