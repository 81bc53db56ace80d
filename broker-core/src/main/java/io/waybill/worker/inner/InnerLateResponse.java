package io.waybill.worker.inner;

import io.waybill.handling.Failure;
import io.waybill.handling.OutgoingResponse;
import io.waybill.worker.poll.DeferredOutcome;
import io.waybill.worker.reference.ValueResponse;

/**
 * Response to an inner message that is given after its handler returned.
 *
 * <p><b>Threads.</b> Any.
 */
final class InnerLateResponse extends ValueResponse implements DeferredOutcome {

    private final InnerRequest request;
    private final long number; // of the request, whose object may be reused
    private final OutgoingResponse body;

    InnerLateResponse(InnerRequest request, long number, int workerId) {
        this(request, number, workerId, new OutgoingResponse());
    }

    private InnerLateResponse(InnerRequest request, long number, int workerId, OutgoingResponse body) {
        super(body, workerId);
        this.request = request;
        this.number = number;
        this.body = body;
    }

    @Override
    protected void complete(Failure failed) {
        request.completeLate(number, body, failed);
    }
}
