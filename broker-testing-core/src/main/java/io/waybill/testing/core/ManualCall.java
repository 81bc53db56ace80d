package io.waybill.testing.core;

import io.waybill.api.CallException;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.context.CallContext;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.FailedAttempt;
import io.waybill.api.intercept.IncomingResponse;
import io.waybill.api.intercept.OutgoingCall;
import io.waybill.api.tensor.Tensor;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A call of a {@link ManualWorker} between its interceptors. For one thread. */
final class ManualCall implements OutgoingCall, IncomingResponse, FailedAttempt {

    private final Request request;
    private final Map<CallInterceptor, Object> attachments = new HashMap<>();
    private final Set<CallInterceptor> kept = new HashSet<>();
    private CallContext context = CallContext.current();
    private CallInterceptor current;
    private String to;
    private TestMessage message;
    private TestResponse response; // null until there is one
    private CallException failure; // of the last attempt
    private int number = 1;
    private Duration repeatAfter; // null: the last attempt is not repeated

    ManualCall(Request request) {
        this.request = request;
        this.to = request.to();
        this.message = TestMessage.of(request);
    }

    /** Returns this call from the view of an interceptor. */
    ManualCall of(CallInterceptor interceptor) {
        current = interceptor;
        return this;
    }

    TestMessage message() {
        return message;
    }

    boolean isKeptBy(CallInterceptor interceptor) {
        return kept.contains(interceptor);
    }

    void failed(CallException attempt) {
        failure = attempt;
        repeatAfter = null;
    }

    /** Begins the next attempt, and returns its delay; null if no interceptor has repeated the request. */
    Duration next() {
        number++;
        return repeatAfter;
    }

    boolean isRepeated() {
        return repeatAfter != null;
    }

    void arrived(TestResponse arrived) {
        response = arrived;
    }

    @Override
    public String to() {
        return to;
    }

    @Override
    public void redirect(String worker) {
        to = worker;
    }

    @Override
    public MessageType calledType() {
        return request.type();
    }

    @Override
    public long parentId() {
        return MessageId.NONE;
    }

    @Override
    public Object attachment() {
        return attachments.get(current);
    }

    @Override
    public CallContext context() {
        return context;
    }

    @Override
    public void context(CallContext replacement) {
        context = replacement;
    }

    @Override
    public MessageType type() {
        return message.type();
    }

    @Override
    public String operation() {
        try {
            return TestMessage.of(request).operation();
        } catch (RejectedMessageException e) {
            throw new AssertionError("the program's request can't be decoded", e);
        }
    }

    @Override
    public boolean isAwaited() {
        return true;
    }

    @Override
    public ByteBuffer payload() {
        return message.payload();
    }

    @Override
    public List<Tensor> tensors() {
        return message.tensors();
    }

    @Override
    public List<RRef> references() {
        return response == null ? message.references() : response.references();
    }

    @Override
    public void attach(Object attachment) {
        attachments.put(current, attachment);
    }

    @Override
    public void keep() {
        kept.add(current);
    }

    @Override
    public void wrap(MessageType type, ByteBuffer payload) {
        wrap(type, payload, message.tensors(), message.references());
    }

    @Override
    public void wrap(MessageType type, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        if (!type.isRequest()) {
            throw new IllegalArgumentException("a request is wrapped in a request, and " + type + " is none");
        }
        message = TestMessage.raw(type, payload, tensors, references);
    }

    @Override
    public Response response() {
        return response;
    }

    @Override
    public void unwrap(MessageType type, ByteBuffer payload) {
        unwrap(type, payload, response.tensors(), response.references());
    }

    @Override
    public void unwrap(MessageType type, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        if (!type.isResponse()) {
            throw new IllegalArgumentException("a response is unwrapped to a response, and " + type + " is none");
        }
        response = TestResponse.raw(type, payload, tensors, references);
    }

    TestResponse arrived() {
        return response;
    }

    @Override
    public CallException failure() {
        return failure;
    }

    @Override
    public int number() {
        return number;
    }

    @Override
    public boolean repeat(Duration delay) {
        if (number >= MAX_ATTEMPTS) {
            return false;
        }
        repeatAfter = delay;
        return true;
    }
}
