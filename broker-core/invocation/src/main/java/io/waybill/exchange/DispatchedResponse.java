package io.waybill.exchange;

import io.waybill.api.RRef;
import io.waybill.api.tensor.Tensor;
import io.waybill.handling.HeldResponse;
import io.waybill.handling.OutgoingResponse;
import io.waybill.handling.PassedObjects;
import java.util.Arrays;
import java.util.List;

/**
 * Response to a message that was inside another one. Holds counts of its tensors and handles of its references.
 * Thread-safe.
 */
public final class DispatchedResponse extends HeldResponse {

    private DispatchedResponse(Header header, byte[] payload, List<Tensor> tensors, List<? extends RRef> references) {
        super(header, payload, tensors, references);
    }

    /**
     * Takes a handler's composed response, which is empty afterwards.
     *
     * @param workerId the worker whose handler responded
     */
    public static DispatchedResponse take(InnerMessage request, OutgoingResponse composed, int workerId) {
        byte[] payload = Arrays.copyOf(composed.array(), composed.length());
        List<Tensor> tensors = composed.tensors().isEmpty() ? List.of() : List.copyOf(composed.tensors());
        List<? extends RRef> references =
                composed.references().isEmpty() ? List.of() : List.copyOf(composed.references());
        Header header = new Header(
                OutgoingResponse.typeFor(request.view().type()), request.view().id(), workerId);
        DispatchedResponse taken = new DispatchedResponse(header, payload, tensors, references);
        composed.forget();
        return taken;
    }

    @Override
    protected boolean isEmpty() {
        return tensors().isEmpty() && references().isEmpty();
    }

    @Override
    protected void release() {
        PassedObjects.release(tensors(), references());
    }
}
