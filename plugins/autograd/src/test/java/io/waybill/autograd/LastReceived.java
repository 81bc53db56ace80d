package io.waybill.autograd;

import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.IncomingResponse;
import io.waybill.api.intercept.InterceptsMessage;
import io.waybill.api.intercept.OutgoingCall;
import io.waybill.autograd.message.ForwardEnvelope;

/** Notes the id of the last message of a context that came as a response. Sees it before it is unwrapped. */
@InterceptsMessage
final class LastReceived implements CallInterceptor {

    private volatile long messageId;

    /** Returns the id of its send function at the worker that responded. */
    long messageId() {
        return messageId;
    }

    @Override
    public void onRequest(OutgoingCall call) {}

    @Override
    public void onResponse(IncomingResponse incoming) throws RejectedMessageException {
        if (incoming.response().type() == MessageType.FORWARD_AUTOGRAD_RESP) {
            messageId = ForwardEnvelope.response(incoming.response().payload()).messageId();
        }
    }
}
