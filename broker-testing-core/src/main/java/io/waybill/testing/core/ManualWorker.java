package io.waybill.testing.core;

import io.waybill.api.CallException;
import io.waybill.api.Caller;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.context.ContextScope;
import io.waybill.api.context.ThreadContext;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.api.intercept.IgnoresMessage;
import io.waybill.api.intercept.InterceptsMessage;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/**
 * A worker of a test, without a broker: its calls go to the test's handlers, through the test's interceptors. All code
 * runs on the calling thread; a repetition has no delay, and {@link #delayed()} sums up the requested delays.
 *
 * <p>The most specific handler is called, as in a worker; the {@link InterceptsMessage} of an interceptor selects its
 * messages; without one it is called for all. The interceptor that was added first has the highest ranking. For one
 * thread. Limits, deadlines, guards, policies and records are absent: a test with the bundle in a broker covers them.
 */
public final class ManualWorker implements Caller {

    private static final long ID = MessageId.of(1, 1);
    private static final int NONE = -1;
    private static final String FUNCTION = "function:";

    private final Map<String, MessageHandler> handlers = new LinkedHashMap<>();
    private final List<CallInterceptor> callInterceptors = new ArrayList<>();
    private final List<HandlerInterceptor> handlerInterceptors = new ArrayList<>();
    private Duration delayed = Duration.ZERO;
    private int attempts;

    /** Adds a handler for the messages of its {@link HandlesMessage}. */
    public ManualWorker handle(MessageHandler handler) {
        HandlesMessage keys = handler.getClass().getAnnotation(HandlesMessage.class);
        if (keys == null) {
            throw new IllegalArgumentException(
                    handler.getClass().getName() + " has no @HandlesMessage: say what it handles");
        }
        for (String key : keys.value()) {
            handle(key, handler);
        }
        return this;
    }

    /**
     * Adds a handler for an operation, a type or a pattern.
     *
     * @param key as in {@link HandlesMessage#value()}
     */
    public ManualWorker handle(String key, MessageHandler handler) {
        if (handlers.putIfAbsent(key, handler) != null) {
            throw new IllegalArgumentException("two handlers for " + key);
        }
        return this;
    }

    /** Adds an interceptor of calls: the first one sees a request first. */
    public ManualWorker with(CallInterceptor interceptor) {
        callInterceptors.add(interceptor);
        return this;
    }

    /** Adds an interceptor of handlers: the first one is nearest to the handler. */
    public ManualWorker with(HandlerInterceptor interceptor) {
        handlerInterceptors.add(interceptor);
        return this;
    }

    /** Returns the sum of the delays after which interceptors repeated calls. */
    public Duration delayed() {
        return delayed;
    }

    /** Returns the number of sent requests, including repetitions. */
    public int attempts() {
        return attempts;
    }

    // ---- calls

    @Override
    public Response call(Request request) {
        return waited(callAsync(request));
    }

    @Override
    public CompletableFuture<Response> callAsync(Request request) {
        try {
            return CompletableFuture.completedFuture(intercepted(request));
        } catch (CallException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    @Override
    public long call(Request request, ResponseListener listener) {
        try (Response response = intercepted(request)) {
            listener.onResponse(response);
        } catch (CallException e) {
            listener.onFailure(e);
        }
        return ID;
    }

    private TestResponse intercepted(Request request) {
        ManualCall call = new ManualCall(request);
        List<CallInterceptor> begun = new ArrayList<>();
        try {
            for (CallInterceptor interceptor : concerned(callInterceptors, call.message())) {
                interceptor.onRequest(call.of(interceptor));
                begun.add(0, interceptor);
            }
            call.arrived(attempted(call, begun));
            while (!begun.isEmpty()) {
                CallInterceptor interceptor = begun.remove(0);
                interceptor.onResponse(call.of(interceptor));
            }
            return call.arrived();
        } catch (RejectedMessageException | CallException e) {
            CallException failure = e instanceof CallException known ? known : failure((RejectedMessageException) e);
            begun.forEach(interceptor -> interceptor.onFailure(call.of(interceptor), failure));
            throw failure;
        }
    }

    private TestResponse attempted(ManualCall call, List<CallInterceptor> begun) {
        while (true) {
            attempts++;
            try {
                return served(call);
            } catch (CallException e) {
                call.failed(e);
                for (CallInterceptor interceptor : begun) {
                    if (call.isKeptBy(interceptor) && !call.isRepeated()) {
                        interceptor.onAttemptFailed(call.of(interceptor));
                    }
                }
                if (!call.isRepeated()) {
                    throw e;
                }
                delayed = delayed.plus(call.next());
            }
        }
    }

    private TestResponse served(ManualCall call) {
        ThreadContext thread = ThreadContext.own();
        ContextScope before = thread.enter(call.context());
        try {
            return (TestResponse) waited(serve(call.message(), new RecordingOutbox(this)));
        } finally {
            thread.leave(before); // also scopes that the handler left open
        }
    }

    /** Returns the present outcome, because no other thread could complete the future. */
    static Response waited(CompletableFuture<Response> response) {
        if (!response.isDone()) {
            throw new IllegalStateException(
                    "the response is deferred, and nothing completes it while this thread waits: call asynchronously");
        }
        try {
            return response.join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof Error failed) {
                throw failed;
            }
            throw e.getCause() instanceof CallException failure ? failure : e;
        }
    }

    // ---- handlers

    /** Calls the handler of a message, between its interceptors. The future fails with a {@link CallException}. */
    CompletableFuture<Response> serve(TestMessage message, RecordingOutbox outbox) {
        Map<HandlerInterceptor, Object> begun = new LinkedHashMap<>(); // with their attachments, the nearest last
        CallException failure = null;
        try {
            before(message, outbox, begun);
            if (!outbox.hasOutcome()) {
                handler(message).handle(message, outbox);
            }
        } catch (RejectedMessageException e) {
            failure = failure(e);
        } catch (InnerFailure e) {
            failure = e;
        } catch (Exception e) {
            failure = threw(e);
        }
        if (failure == null && outbox.isDeferred()) {
            CompletableFuture<Response> later = new CompletableFuture<>();
            outbox.late().thenAccept(sent -> complete(later, message, sent, null, begun));
            return later;
        }
        CompletableFuture<Response> now = new CompletableFuture<>();
        complete(now, message, outbox, failure, begun);
        return now;
    }

    private void complete(
            CompletableFuture<Response> future,
            TestMessage message,
            RecordingOutbox outbox,
            CallException failure,
            Map<HandlerInterceptor, Object> begun) {
        try {
            future.complete(completed(message, outbox, failure, begun));
        } catch (CallException | Error e) { // such as a failed assertion: nothing else completes a deferred response
            future.completeExceptionally(e);
        }
    }

    private void before(TestMessage message, RecordingOutbox outbox, Map<HandlerInterceptor, Object> begun)
            throws RejectedMessageException {
        List<HandlerInterceptor> nearestFirst = concerned(handlerInterceptors, message);
        for (int i = nearestFirst.size() - 1; i >= 0 && !outbox.hasOutcome(); i--) {
            HandlerInterceptor interceptor = nearestFirst.get(i);
            message.attach(null);
            interceptor.before(message, outbox);
            begun.put(interceptor, message.attachment());
        }
    }

    private Response completed(
            TestMessage message, RecordingOutbox outbox, CallException failed, Map<HandlerInterceptor, Object> begun) {
        CallException failure = failed != null ? failed : outbox.failed();
        TestResponse response = failure != null
                ? null
                : outbox.toResponse(message.type().response().orElse(MessageType.NAMED_RET));
        List<HandlerInterceptor> nearestFirst = new ArrayList<>(begun.keySet());
        Collections.reverse(nearestFirst);
        for (HandlerInterceptor interceptor : nearestFirst) {
            try {
                interceptor.after(outcome(message, response, failure, begun.get(interceptor)));
            } catch (RejectedMessageException e) {
                failure = failure == null ? failure(e) : failure;
            } catch (RuntimeException e) {
                failure = failure == null ? threw(e) : failure;
            }
        }
        if (failure != null) {
            throw failure;
        }
        return response;
    }

    private static ManualOutcome outcome(
            TestMessage message, TestResponse response, CallException failure, Object attachment) {
        return new ManualOutcome(
                message.type(),
                message.id(),
                message.from(),
                attachment,
                failure == null ? Optional.empty() : Optional.of(failure.code()),
                failure == null ? "" : failure.getMessage(),
                failure == null ? response : null);
    }

    private static CallException threw(Exception e) {
        return new CallException(ErrorKind.UNKNOWN_ERROR, ErrorCode.HANDLER_FAILED, ID, e.toString(), e)
                .begun(CallException.Begun.YES);
    }

    private static CallException failure(RejectedMessageException e) {
        return new CallException(ErrorKind.UNKNOWN_ERROR, e.code(), ID, e.getMessage(), e);
    }

    /** Failure of an inner message, which becomes the outer message's if its handler does not catch it. */
    static final class InnerFailure extends CallException {
        private static final long serialVersionUID = 1L;

        InnerFailure(CallException e) {
            super(e.kind(), e.code(), e.messageId(), e.getMessage(), e);
        }
    }

    // ---- which one

    private MessageHandler handler(TestMessage message) throws RejectedMessageException {
        String operation = message.operation();
        String best = null;
        for (String key : handlers.keySet()) {
            int specific = specificity(key, message.type(), operation);
            if (specific > (best == null ? NONE : specificity(best, message.type(), operation))) {
                best = key;
            }
        }
        if (best != null) {
            return handlers.get(best);
        }
        boolean isByName = message.type().equals(MessageType.NAMED_CALL);
        throw new RejectedMessageException(
                isByName ? ErrorCode.UNKNOWN_OPERATION : ErrorCode.UNKNOWN_TYPE,
                "the test has no handler for " + operation + ", but for " + handlers.keySet());
    }

    private static <T> List<T> concerned(List<T> interceptors, TestMessage message) throws RejectedMessageException {
        String operation = message.operation();
        List<T> concerned = new ArrayList<>();
        for (T interceptor : interceptors) {
            InterceptsMessage keys = interceptor.getClass().getAnnotation(InterceptsMessage.class);
            IgnoresMessage ignored = interceptor.getClass().getAnnotation(IgnoresMessage.class);
            if ((keys == null || isAny(keys.value(), message.type(), operation))
                    && (ignored == null || !isAny(ignored.value(), message.type(), operation))) {
                concerned.add(interceptor);
            }
        }
        return concerned;
    }

    private static boolean isAny(String[] keys, MessageType type, String operation) {
        return Arrays.stream(keys).anyMatch(key -> specificity(key, type, operation) > NONE);
    }

    /**
     * Returns how specific a key is for a message: {@link #NONE} if it does not match; a larger number is more
     * specific.
     */
    private static int specificity(String key, MessageType type, String operation) {
        boolean isByName = type.equals(MessageType.NAMED_CALL);
        if (key.equals(InterceptsMessage.ALL_TYPES)) {
            return isByName ? NONE : 0;
        }
        if (key.equals(InterceptsMessage.ALL_OPERATIONS)) {
            return isByName ? 0 : NONE;
        }
        if (key.endsWith(".*")) {
            String prefix = key.substring(0, key.length() - 1);
            return isByName && operation.startsWith(prefix) ? prefix.length() : NONE;
        }
        if (key.startsWith(FUNCTION)) {
            boolean isCalled = type.equals(MessageType.SCRIPT_CALL) && key.equals(FUNCTION + operation);
            return isCalled ? Integer.MAX_VALUE : NONE;
        }
        boolean isNamed = isByName
                ? key.equals(operation)
                : MessageType.named(key).filter(type::equals).isPresent();
        return isNamed ? Integer.MAX_VALUE - 1 : NONE;
    }
}
