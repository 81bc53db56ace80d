package io.waybill.python.link;

import io.waybill.api.Caller;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Rpc;
import io.waybill.api.broker.Broker;
import io.waybill.python.wire.CallFrame;
import io.waybill.python.wire.FrameChannel;
import io.waybill.python.wire.ProcessError;
import io.waybill.python.wire.ProcessMessage;
import io.waybill.python.wire.ProtocolException;
import io.waybill.python.wire.SocketFrame;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Outgoing calls of a process.
 *
 * <p><b>Threads.</b> {@link #begin}: the reading thread. Outcomes arrive on a thread that polls for the worker,
 * possibly the one that reads for another process.
 */
final class OutgoingCalls implements AutoCloseable {

    private static final int MAX_THREADS = 64;
    private static final String ANY_TYPE = "Any";

    private final FrameChannel channel;
    private final Broker broker;
    private final CallFrame.Shared shared;
    private final GatewayOperations operations;
    private final ServedCalls served;
    private final ThreadPoolExecutor threads;

    OutgoingCalls(
            FrameChannel channel,
            Broker broker,
            CallFrame.Shared shared,
            GatewayOperations operations,
            ServedCalls served) {
        this.channel = channel;
        this.broker = broker;
        this.shared = shared;
        this.operations = operations;
        this.served = served;
        String thread = "python-" + broker.self().worker().name() + "-calls";
        this.threads = new ThreadPoolExecutor(
                0,
                MAX_THREADS,
                10,
                TimeUnit.SECONDS,
                new SynchronousQueue<>(),
                body -> {
                    Thread made = new Thread(body, thread);
                    made.setDaemon(true);
                    return made;
                },
                new ThreadPoolExecutor.CallerRunsPolicy());
    }

    /**
     * Begins a call.
     *
     * @throws IOException if the process violated the protocol
     */
    void begin(SocketFrame frame) throws IOException {
        CallFrame head = CallFrame.ofCall(frame);
        long exchange = frame.exchange(); // a call in flight keeps this, not the frame
        if (exchange <= 0) {
            throw new ProtocolException("a call has an exchange from 1 on, and this one has " + exchange);
        }
        try (ProcessMessage message = ServedCalls.read(channel, frame, shared)) {
            if (head.to().isEmpty()) {
                operate(exchange, head, message);
                return;
            }
            Request request = timed(ProcessLink.request(head.to(), head.type(), message), head.timeNs());
            if (head.creates()) {
                create(exchange, head, request);
                return;
            }
            caller(head).callAsync(request).whenComplete((response, failure) -> ended(exchange, response, failure));
        } catch (RuntimeException e) { // from the broker: it fails this call only
            channel.write(SocketFrame.of(exchange, ProcessError.of(e)));
        }
    }

    private static Request timed(Request request, long timeoutNs) {
        return timeoutNs == Request.DEFAULT_TIMEOUT ? request : request.timeout(Duration.ofNanos(timeoutNs));
    }

    private void create(long exchange, CallFrame head, Request request) {
        ServedCall parent = parent(head);
        Rpc rpc = parent == null ? broker.rpc() : parent.rpc();
        String type = request.type() == MessageType.PYTHON_CALL ? KeptObject.TYPE : ANY_TYPE;
        RRef made = rpc.remote(request, type);
        CallFrame result = new CallFrame(MessageType.REMOTE_RET.code(), 0, made.owner(), 0, 0, "");
        channel.write(result.toReference(exchange, shared, made));
    }

    private ServedCall parent(CallFrame head) {
        return head.number() == 0 ? null : served.find(head.number());
    }

    /** Returns the threads of calls that wait. */
    Executor threads() {
        return task -> {
            try {
                threads.execute(task);
            } catch (OutOfMemoryError e) { // the host refuses a thread: treated like no free thread
                task.run();
            }
        };
    }

    /** Returns the caller on behalf of the request that the process is serving, otherwise of the worker. */
    Caller caller(CallFrame head) {
        ServedCall parent = parent(head);
        return parent == null ? broker.caller() : parent.caller();
    }

    private void operate(long exchange, CallFrame head, ProcessMessage message) {
        try {
            operations.run(head, message, channel::write, exchange, this);
        } catch (RejectedMessageException e) {
            channel.write(SocketFrame.of(exchange, ProcessError.of(e)));
        }
    }

    /** Passes the outcome of a call to the process. */
    void ended(long exchange, Response response, Throwable failure) {
        if (failure != null) {
            channel.write(SocketFrame.of(exchange, ProcessError.of(failure)));
            return;
        }
        if (shared.copiedBytes(response.tensors()) <= ProcessLink.MAX_COPIED) {
            pass(exchange, response);
        } else {
            threads.execute(() -> pass(exchange, response));
        }
    }

    private void pass(long exchange, Response response) {
        try (response) {
            CallFrame head = new CallFrame(response.type().code(), 0, response.from(), response.id(), 0, "");
            channel.write(
                    head.toResult(exchange, shared, response.payload(), response.tensors(), response.references()));
        } catch (RejectedMessageException e) {
            channel.write(SocketFrame.of(exchange, ProcessError.of(e)));
        } catch (RuntimeException e) { // tensors may no longer exist
            channel.write(
                    SocketFrame.of(exchange, new ProcessError(ErrorCode.UNKNOWN, String.valueOf(e.getMessage()))));
        }
    }

    @Override
    public void close() {
        threads.shutdownNow();
    }
}
