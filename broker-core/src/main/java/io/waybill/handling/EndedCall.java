package io.waybill.handling;

import io.waybill.api.MessageType;
import io.waybill.api.context.CallContext;
import io.waybill.api.intercept.InterceptedCall;

/** A call that ended while one of its interceptors holds the thread that completes it, as another one sees it in its last callback. Immutable. */
record EndedCall(String to, MessageType calledType, long parentId, CallContext context, Object attachment)
        implements InterceptedCall {}
