package io.waybill.testing.core;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.intercept.HandledMessage;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Optional;

/**
 * Outcome of a request from the view of an interceptor of handlers.
 *
 * @param response null if the outcome is an error
 */
record ManualOutcome(
        MessageType type,
        long id,
        int from,
        Object attachment,
        Optional<ErrorCode> error,
        String errorText,
        TestResponse response)
        implements HandledMessage {

    /** Returns the name of a made bundle, because a test has no handler in one. */
    @Override
    public String responder() {
        return "org.acme.tested 1.0.0";
    }

    @Override
    public ByteBuffer payload() {
        return response == null ? ByteBuffer.allocate(0) : response.payload();
    }

    @Override
    public List<Tensor> tensors() {
        return response == null ? List.of() : response.tensors();
    }
}
