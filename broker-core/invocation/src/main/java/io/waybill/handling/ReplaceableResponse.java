package io.waybill.handling;

import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.Response;
import io.waybill.api.tensor.Tensor;
import java.util.List;

/** Response whose content interceptors may replace before the program gets it. */
public interface ReplaceableResponse extends Response {

    /** Replaces type and payload. */
    void unwrap(MessageType type, byte[] payload);

    /**
     * Replaces the response. Acquires the tensors and references.
     *
     * @param tensors with one count of each storage
     * @param references handles
     */
    void unwrap(MessageType type, byte[] payload, List<Tensor> tensors, List<? extends RRef> references);
}
