package io.waybill.worker.serve;

import io.waybill.api.ErrorCode;
import io.waybill.exchange.ResponseSink;
import io.waybill.handling.Failure;
import io.waybill.handling.OutgoingResponse;

/**
 * Sink for the outcome of a peer's request: passes it to the journal, together with the outcome of the value that the
 * request creates. Pooled with the {@link PeerRequest}.
 *
 * <p><b>Threads.</b> Belongs to the thread that ends the request.
 */
final class PeerResponse implements ResponseSink {

    private final ServingContext context;
    private final PeerRequest request;
    private final RequestPool pool;
    private final ResponseBody body = new ResponseBody();

    PeerResponse(ServingContext context, PeerRequest request, RequestPool pool) {
        this.context = context;
        this.request = request;
        this.pool = pool;
    }

    @Override
    public boolean respond(OutgoingResponse composed, Failure failed, boolean returned) {
        try {
            RequestReferences references = request.attachments().references();
            OutgoingResponse response = composed;
            Failure why = failed;
            if (request.attachments().creates()) {
                response = references.ended(composed, failed);
                why = null;
            } else if (references != null && failed == null) {
                references.ended(ErrorCode.NO_RESPONSE, "no message inside its request created the value");
            } else if (references != null) {
                references.ended(failed.code(), failed.text());
            }
            long begunNs = request.times().begunNs;
            byte[] observed = request.services().observed();
            if (why == null) {
                body.open(response, begunNs, request.servedBy(), observed);
                body.respondsTo(context.responses(), request, request.handlerSequence());
                return context.responses().send(body) && failed == null;
            }
            ResponseBody.OfError error = new ResponseBody.OfError(why, begunNs, observed, request.servedBy());
            fail(error, request.handlerSequence());
            return false;
        } finally {
            body.close();
            request.inFlight().close(); // the response is in the journal
            if (!returned) {
                context.faults().surface(); // the thread may belong to the program
            }
        }
    }

    private void fail(ResponseBody.OfError error, long handlerSequence) {
        error.respondsTo(context.responses(), request, handlerSequence);
        context.responses().fail(error);
    }

    @Override
    public void ended(boolean reusable, boolean returned) {
        if (!reusable) {
            pool.drop(request);
        } else if (!returned || !request.isKeptInline()) {
            pool.give(request);
        }
    }

    @Override
    public void detached() {
        pool.drop(request);
    }

    // ---- of a request that no handler gets

    /** Responds with an error of the broker, and frees the request. */
    void refuse(ErrorCode code, String text) {
        refuse(Failure.of(code, context.exchanges().workerId(), text));
    }

    /** Responds with an error, and frees the request. */
    void refuse(Failure failure) {
        context.transit().discard(request.view(), request.link());
        refuseDecoded(failure);
    }

    /** Responds with an error to a request whose tensors were decoded, or could not be, and frees it. */
    void refuseDecoded(Failure failure) {
        RequestReferences references = request.attachments().references();
        if (references == null) {
            RequestReferences.decline(context.references(), request.view(), request.link());
        } else {
            references.createFailed(failure);
        }
        fail(new ResponseBody.OfError(failure), 0);
        request.inFlight().close();
        request.exchange().endInterception();
        boolean isFree = request.release();
        request.exchange().withdraw(); // not earlier: a storage that throws is charged to the handler
        ended(isFree, false);
    }
}
