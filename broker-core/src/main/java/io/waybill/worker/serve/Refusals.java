package io.waybill.worker.serve;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerTable;
import io.waybill.handling.Delivered;
import io.waybill.handling.Failure;
import io.waybill.worker.metrics.WorkerCounters;

/**
 * Rejects requests for which no handler is called, with the matching code and text.
 *
 * <p><b>Threads.</b> Belongs to the holder of the poll permit.
 */
final class Refusals {

    private final WorkerCounters counters;

    Refusals(WorkerCounters counters) {
        this.counters = counters;
    }

    /** Rejects a request whose deadline has passed, or was on the clock of an earlier boot. */
    void expired(PeerRequest request, Failure failure) {
        counters.countExpired();
        request.response().refuse(failure);
    }

    /** Rejects a request to an earlier incarnation of this worker that may not be run again. */
    void lost(PeerRequest request, long ownEpoch) {
        counters.countExpired();
        String call = "call " + MessageId.text(request.view().id());
        refuse(
                request,
                ErrorCode.WORKER_LOST,
                request.delivered() == Delivered.AGAIN
                        ? call + " was sent before to this worker, which may have begun it and did not respond"
                        : call + " was sent to incarnation " + request.view().epoch()
                                + " of this worker, which did not begin it; this is incarnation " + ownEpoch);
    }

    void outOfService(PeerRequest request, HandlerEntry entry) {
        request.response().refuse(Failure.outOfService(request.view().to(), entry));
    }

    void noRoomForResponse(PeerRequest request) {
        refuse(
                request,
                ErrorCode.JOURNAL_FULL,
                "the request was not begun, because the journal's disk has no room for its response");
    }

    void tooManyRepeats(PeerRequest request) {
        refuse(
                request,
                ErrorCode.BACK_PRESSURE,
                "the responses to " + RepeatedRequests.MAX
                        + " repeated requests, the max, are being looked for already");
    }

    /** Rejects a request whose payload does not begin with a name, as its type demands. */
    void unnamed(PeerRequest request) {
        refuse(
                request,
                ErrorCode.MALFORMED_BODY,
                "the payload of a " + request.view().type()
                        + " begins with the operation's name, and this one does not");
    }

    /** Rejects a request for whose key there never was a handler. */
    void unknown(PeerRequest request, HandlerKey key, HandlerTable table) {
        request.response().refuse(Failure.unknown(request.view().to(), key, table));
    }

    void tooManyParked(PeerRequest request, HandlerKey key, int parked) {
        refuse(
                request,
                ErrorCode.HANDLER_GONE,
                "the handler for " + key.text() + " or an interceptor of it left, or is busy, and " + parked
                        + " requests, the most allowed, wait for handlers already");
    }

    void parkedTooLong(PeerRequest request, HandlerKey key, long maxDurationNs) {
        refuse(
                request,
                ErrorCode.HANDLER_GONE,
                "the handler for " + key.text() + " or an interceptor of it left, and none came within "
                        + maxDurationNs / 1_000_000 + " ms");
    }

    private static void refuse(PeerRequest request, ErrorCode code, String text) {
        request.response().refuse(code, text);
    }
}
