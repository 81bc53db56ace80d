package io.waybill.python.link;

import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Value;
import io.waybill.api.ValueEncoder;
import io.waybill.api.broker.Broker;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.Tensor;
import io.waybill.python.wire.CallFrame;
import io.waybill.python.wire.FrameChannel;
import io.waybill.python.wire.ProcessError;
import io.waybill.python.wire.ProcessMessage;
import io.waybill.python.wire.ProtocolException;
import io.waybill.python.wire.SocketFrame;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A connected process, with the worker that calls and serves in its name.
 *
 * <p><b>Threads.</b> {@link #run} is called by one thread, which reads; {@link #serve} by the threads of handlers.
 */
public final class ProcessLink implements AutoCloseable {

    private final String name; // of the process, for errors
    private final FrameChannel channel;
    private final Broker broker;
    private final CallFrame.Shared shared;
    private final Map<Long, ServedCall> served = new ConcurrentHashMap<>();
    private final AtomicLong exchanges = new AtomicLong();
    private final OutgoingCalls calls;
    private final AtomicInteger uses = new AtomicInteger(); // requests that it is serving, and objects that it keeps
    private volatile boolean leaves; // when it has no use any more
    private volatile String ended = ""; // why; empty while it is connected

    /**
     * Creates a link.
     *
     * @param broker of the worker that calls in the process's name
     * @param control of operations on the gateway itself
     */
    public ProcessLink(String name, FrameChannel channel, Broker broker, CallFrame.Shared shared, Control control) {
        this.name = name;
        this.channel = channel;
        this.broker = broker;
        this.shared = shared;
        this.calls = new OutgoingCalls(
                channel, broker, shared, new GatewayOperations(this, broker, shared, control), served);
    }

    /**
     * Reads frames until the process leaves or its connection ends.
     *
     * @return whether it left in order
     * @throws IOException when the connection failed, or the process broke the protocol
     */
    public boolean run() throws IOException {
        while (true) {
            SocketFrame frame = channel.read(SocketFrame.MAX_BODY, 0);
            if (frame == null) {
                return false;
            }
            switch (frame.kind()) {
                case CALL -> calls.begin(frame);
                case RESULT, FAILED -> ended(frame);
                case RELEASE -> released(frame.numbers());
                case DROP -> shared.references().drop(frame.numbers());
                case LEAVE -> {
                    return true;
                }
                default -> throw new ProtocolException("a process sends no " + frame.kind() + " here");
            }
        }
    }

    private void ended(SocketFrame frame) throws ProtocolException {
        if (frame.exchange() == 0) {
            throw new ProtocolException(
                    "the process ended the connection: " + frame.error().text());
        }
        ServedCall exchange = served.remove(frame.exchange());
        if (exchange != null) {
            shared.references().received(frame.exchange()); // what it names may be dropped by the next frame
            if (!exchange.outcome().complete(frame)) {
                shared.references().decoded(frame.exchange());
                discard(frame);
            }
        } else if (frame.exchange() > exchanges.get() || frame.exchange() < 0) {
            throw new ProtocolException(
                    frame.kind() + " names exchange " + frame.exchange() + ", and the last one is " + exchanges.get());
        } else { // cancelled before: no caller waits, but its regions are to be used again
            discard(frame);
        }
    }

    private void discard(SocketFrame frame) throws ProtocolException {
        if (frame.kind() == SocketFrame.Kind.RESULT) {
            CallFrame head = CallFrame.ofResult(frame);
            if (head.creates()) {
                forget(head.number());
            }
            try (ProcessMessage message = CallFrame.message(frame, shared)) {
                release(message);
            } catch (ProtocolException e) {
                throw e;
            } catch (IOException e) {
                throw new ProtocolException(e.getMessage());
            }
        }
    }

    private void released(long... positions) throws ProtocolException {
        for (long position : positions) {
            if (shared.regions() == null) {
                throw new ProtocolException("RELEASE needs regions, and this process has none");
            }
            shared.regions().release(position);
        }
    }

    private void release(ProcessMessage message) {
        long[] regions = message.regions();
        if (regions.length > 0) {
            channel.write(SocketFrame.of(SocketFrame.Kind.RELEASE, regions));
        }
    }

    /**
     * Has the process serve a request, and responds with its result. Waits for it.
     *
     * @throws RejectedMessageException when the process responds with an error or ends, or the deadline passes
     */
    public void serve(Message message, Outbox outbox) throws RejectedMessageException {
        if (message.type() == MessageType.PYTHON_RREF_FETCH_CALL) {
            fetch(message, outbox);
        } else {
            serve(message, message.payload(), message.tensors(), message.references(), outbox);
        }
    }

    /**
     * Has the process that keeps the object of a reference respond with it. Waits for it, and until the object was made.
     *
     * @param message a fetch, with a reference to a value of this worker
     * @throws RejectedMessageException when there is no such object, or its process responds with an error or has ended, or the deadline passes
     */
    public static void fetch(Message message, Outbox outbox) throws RejectedMessageException {
        List<? extends RRef> references = message.references();
        if (references.size() != 1 || !references.get(0).isOwner()) {
            throw new RejectedMessageException(
                    ErrorCode.MALFORMED_BODY,
                    "a " + message.type() + " has one reference, to a value of the worker that it is sent to");
        }
        KeptObject object = KeptObject.of(references.get(0));
        ProcessLink keeper = object.link();
        if (!keeper.ended.isEmpty()) {
            throw new RejectedMessageException(ErrorCode.OWNER_LOST, "the object is gone: " + keeper.ended);
        }
        byte[] number = new ValueEncoder()
                .value(new Value.Dict(Map.of(Value.of("object"), Value.of(object.number()))))
                .toBytes();
        keeper.serve(message, ByteBuffer.wrap(number), List.of(), List.of(), outbox);
    }

    /** Notes that references name one more object of the process. */
    void keeps() {
        uses.incrementAndGet();
    }

    /** Notes that no reference names an object any more. */
    void forgets(long object) {
        forget(object);
        unused();
    }

    private void forget(long object) {
        channel.write(SocketFrame.of(SocketFrame.Kind.FORGET, object));
    }

    private void unused() {
        uses.decrementAndGet();
        leaveIfUnused();
    }

    /** Disconnects the process in order, as soon as it serves no request and keeps no object. It gets requests for objects only. */
    public void leaveWhenUnused() {
        leaves = true;
        leaveIfUnused();
    }

    private void leaveIfUnused() {
        if (leaves && uses.get() == 0) {
            channel.closeWith(SocketFrame.empty(SocketFrame.Kind.LEAVE, 0));
        }
    }

    private void serve(
            Message message, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references, Outbox outbox)
            throws RejectedMessageException {
        int flags = message.type().isCreating() ? CallFrame.CREATE : 0;
        CallFrame head =
                new CallFrame(message.type().code(), flags, message.from(), message.id(), message.remainingNs(), "");
        long exchange = exchanges.incrementAndGet();
        CompletableFuture<SocketFrame> outcome = new CompletableFuture<>();
        uses.incrementAndGet();
        served.put(exchange, new ServedCall(outcome, outbox.caller(), outbox.rpc()));
        try {
            requireConnected();
            channel.write(head.toCall(exchange, shared, payload, tensors, references));
            SocketFrame frame = await(outcome, message.remainingNs());
            try {
                respond(message, frame, outbox);
            } finally {
                shared.references().decoded(exchange);
            }
        } catch (TimeoutException e) {
            giveUp(exchange, outcome);
            throw new RejectedMessageException(
                    ErrorCode.TIMED_OUT, ProcessError.TIMED_OUT + name + " did not respond before the deadline", e);
        } catch (InterruptedException e) {
            giveUp(exchange, outcome);
            Thread.currentThread().interrupt();
            throw new RejectedMessageException(
                    ErrorCode.HANDLER_GONE, "the gateway stops while " + name + " serves the request", e);
        } finally {
            served.remove(exchange);
            unused();
        }
    }

    private void giveUp(long exchange, CompletableFuture<SocketFrame> outcome) {
        channel.write(SocketFrame.empty(SocketFrame.Kind.CANCEL, exchange));
        if (outcome.cancel(false) || outcome.isCompletedExceptionally()) {
            return;
        }
        try { // it came at the last moment
            discard(outcome.join());
        } catch (ProtocolException e) {
            disconnect(e);
        } finally {
            shared.references().decoded(exchange);
        }
    }

    private void disconnect(IOException why) {
        channel.closeWith(
                SocketFrame.of(0, new ProcessError(ErrorCode.MALFORMED_BODY, String.valueOf(why.getMessage()))));
    }

    private void requireConnected() throws RejectedMessageException {
        if (!ended.isEmpty()) {
            throw new RejectedMessageException(ErrorCode.WORKER_LOST, ended);
        }
    }

    private static SocketFrame await(CompletableFuture<SocketFrame> outcome, long remainingNs)
            throws RejectedMessageException, TimeoutException, InterruptedException {
        try {
            return remainingNs == Long.MAX_VALUE ? outcome.get() : outcome.get(remainingNs, TimeUnit.NANOSECONDS);
        } catch (ExecutionException e) {
            throw new RejectedMessageException(
                    ErrorCode.WORKER_LOST, e.getCause().getMessage(), e);
        } catch (CancellationException e) {
            throw new RejectedMessageException(ErrorCode.CLOSED, "the call was cancelled", e);
        }
    }

    private void respond(Message message, SocketFrame frame, Outbox outbox) throws RejectedMessageException {
        try {
            if (frame.kind() == SocketFrame.Kind.FAILED) {
                throw frame.error().toRejection();
            }
            CallFrame head = CallFrame.ofResult(frame);
            KeptObject kept = head.creates() ? new KeptObject(this, head.number()) : null;
            int expected = message.type().response().map(MessageType::code).orElse(0);
            if (head.type() != expected || message.type().isCreating() != head.creates()) {
                if (kept != null) {
                    kept.release();
                }
                throw new RejectedMessageException(
                        ErrorCode.HANDLER_FAILED,
                        name + " responded to " + message.type() + " with a message of type 0x"
                                + Integer.toHexString(head.type()) + " instead of 0x" + Integer.toHexString(expected)
                                + (kept == null ? ", without" : ", with") + " the number of an object");
            }
            if (kept != null) {
                outbox.respond(kept.value()); // takes the count
                return;
            }
            CallFrame.Shared own = new CallFrame.Shared(shared.regions(), shared.references(), outbox.buffers());
            try (ProcessMessage result = CallFrame.message(frame, own)) {
                release(result);
                for (Tensor tensor : result.tensors()) { // the outbox takes a count for each
                    tensor.storage().retain();
                }
                outbox.respond(result.payload(), result.tensors(), result.references());
            }
        } catch (IOException e) {
            disconnect(e);
            throw new RejectedMessageException(ErrorCode.WORKER_LOST, name + " was disconnected: " + e.getMessage(), e);
        }
    }

    /** Returns the number of requests that the process is serving. */
    public int serving() {
        return served.size();
    }

    /** Fails what the process was serving, and releases what it held. */
    public void end(String why) {
        ended = why;
        channel.close();
        calls.close();
        served.values().forEach(each -> each.outcome().completeExceptionally(new IllegalStateException(why)));
        shared.references().close();
        if (shared.regions() != null) {
            shared.regions().close();
        }
    }

    /** Disconnects the process. */
    @Override
    public void close() {
        channel.close();
    }

    /** Returns a request with what a message carries. */
    static Request request(String to, int type, ProcessMessage message) {
        return Request.raw(to, MessageType.of(type), message.payload(), message.tensors(), message.references());
    }

    /** Returns the worker that calls in the process's name. */
    public Broker broker() {
        return broker;
    }
}
