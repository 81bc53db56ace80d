package io.waybill.worker.serve;

import io.waybill.handling.Failure;
import io.waybill.worker.poll.DeferredOutcome;
import io.waybill.worker.reference.ValueResponse;
import java.util.function.Consumer;

/**
 * A response that is sent after its handler returned.
 *
 * <p><b>Threads.</b> Any.
 */
final class DeferredResponse extends ValueResponse implements DeferredOutcome {

    private final Exchange request;
    private final ResponseBody body;

    DeferredResponse(Exchange request, int workerId, Consumer<? super Throwable> onFailure) {
        this(request, workerId, new ResponseBody(onFailure));
    }

    private DeferredResponse(Exchange request, int workerId, ResponseBody body) {
        super(body.content(), workerId);
        this.request = request;
        this.body = body;
    }

    @Override
    protected void complete(Failure failed) {
        try {
            request.completeLate(body, failed);
        } finally {
            body.reset();
        }
    }
}
