package io.waybill.worker.call;

import io.waybill.api.CallException;
import io.waybill.api.Response;
import java.util.concurrent.CompletableFuture;

/** A call whose outcome completes a future. */
final class FutureCall extends CompletableFuture<Response> implements RetainingListener {

    @Override
    public void onResponse(Response response) {
        OwnedResponse owned;
        try {
            owned = OwnedResponse.keep(response);
        } catch (CallException e) {
            completeExceptionally(e);
            return;
        }
        if (!complete(owned)) {
            owned.close(); // cancelled
        }
    }

    @Override
    public void onFailure(CallException failure) {
        completeExceptionally(failure);
    }
}
