package io.waybill.python.link;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.broker.Broker;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.python.wire.CallFrame;
import io.waybill.python.wire.FrameChannel;
import io.waybill.python.wire.ProcessError;
import io.waybill.python.wire.ProcessMessage;
import io.waybill.python.wire.ProtocolException;
import io.waybill.python.wire.SocketFrame;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * Requests that a process is serving, and conversion of its results to responses.
 *
 * <p><b>Threads.</b> {@link #begin}: handlers' threads or the poller. {@link #serve}: handlers' threads.
 * {@link #ended}: the reading thread. Other methods: any.
 */
final class ServedCalls {

    /** Number of requests from which a handler waits for its own, so that further requests stay in the journal. */
    private static final int MAX_BEGUN = 32;

    private static final Duration LOOK = Duration.ofMillis(250);

    private final String name; // name of the process, for errors
    private final FrameChannel channel;
    private final Broker broker;
    private final CallFrame.Shared shared;
    private final ProcessLink link;
    private final String node; // prefix of the text of an error
    private final Map<Long, ServedCall> served = new ConcurrentHashMap<>();
    private final AtomicLong exchanges = new AtomicLong();
    private final AtomicBoolean looks = new AtomicBoolean(); // whether a check of deadlines is scheduled
    private volatile String ended = ""; // reason; empty while the process is connected

    ServedCalls(String name, FrameChannel channel, Broker broker, CallFrame.Shared shared, ProcessLink link) {
        this.name = name;
        this.channel = channel;
        this.broker = broker;
        this.shared = shared;
        this.link = link;
        this.node = "Error on Node " + broker.self().worker().id() + ": ";
    }

    /** Returns the request of an exchange; null if it has ended. */
    ServedCall find(long exchange) {
        return served.get(exchange);
    }

    int size() {
        return served.size();
    }

    /** Returns why the process can't serve any longer; empty while it is connected. */
    String whyEnded() {
        return ended;
    }

    /** Fails all present and future requests. */
    void end(String why) {
        ended = why;
        served.values().forEach(each -> each.outcome().completeExceptionally(new IllegalStateException(why)));
    }

    // ---- requests that no thread waits for

    /** Returns whether the process is serving so many requests that a handler must wait for the next one. */
    boolean areMany() {
        return served.size() >= MAX_BEGUN;
    }

    /**
     * Makes the process serve a request, and responds later.
     *
     * @throws RejectedMessageException if the process has ended
     */
    void begin(Message message, Outbox outbox) throws RejectedMessageException {
        long exchange = exchanges.incrementAndGet();
        ServedCall begun = new ServedCall(outbox.caller(), outbox.rpc(), message.remainingNs());
        link.uses();
        served.put(exchange, begun);
        if (!ended.isEmpty()) {
            ended(exchange);
            requireConnected();
        }
        LateResponse later = outbox.later();
        MessageType type = message.type();
        begun.outcome().whenComplete((frame, failure) -> respond(exchange, type, frame, failure, later));
        try {
            CallFrame head = head(message);
            channel.write(head.toCall(exchange, shared, message.payload(), message.tensors(), message.references()));
            if (begun.hasDeadline()) {
                lookLater();
            }
        } catch (RejectedMessageException e) {
            begun.outcome().completeExceptionally(e);
        } catch (RuntimeException | Error e) { // from the broker, or the heap is full
            begun.outcome()
                    .completeExceptionally(
                            new RejectedMessageException(ErrorCode.HANDLER_FAILED, String.valueOf(e.getMessage()), e));
        }
    }

    private void respond(long exchange, MessageType type, SocketFrame frame, Throwable failure, LateResponse later) {
        try {
            if (failure instanceof TimeoutException) {
                throw timedOut(failure);
            }
            if (failure instanceof RejectedMessageException refused) {
                throw refused;
            }
            if (failure != null) {
                throw new RejectedMessageException(ErrorCode.WORKER_LOST, failure.getMessage(), failure);
            }
            respond(type, frame, shared.buffers(), later::send, later::send);
        } catch (RejectedMessageException e) {
            String text = String.valueOf(e.getMessage());
            later.fail(e.code(), e.code() == ErrorCode.REFUSED ? text : node + text, e);
        } catch (CallException e) { // from the broker, for example because a result is too large
            later.fail(e.code(), node + e.getMessage(), e);
        } catch (RuntimeException | Error e) { // the caller must not wait for its deadline
            later.fail(ErrorCode.HANDLER_FAILED, e.toString(), e);
        } finally {
            ended(exchange);
        }
    }

    /** Schedules a check of deadlines, for requests without a waiting thread. */
    private void lookLater() {
        if (looks.compareAndSet(false, true)) {
            try {
                broker.schedule(LOOK, this::look);
            } catch (IllegalStateException e) { // the worker is leaving, and the link ends
                looks.set(false);
            }
        }
    }

    private void look() {
        looks.set(false);
        long nowNs = System.nanoTime();
        boolean more = false;
        for (Map.Entry<Long, ServedCall> each : served.entrySet()) {
            if (each.getValue().expire(nowNs)) {
                channel.write(SocketFrame.empty(SocketFrame.Kind.CANCEL, each.getKey()));
            }
            more |= each.getValue().hasDeadline();
        }
        if (more) {
            lookLater();
        }
    }

    // ---- requests that a thread waits for

    /**
     * Makes the process serve a request, and responds with its result.
     *
     * @throws RejectedMessageException if the process responds with an error or ends, or the deadline passes
     */
    void serve(
            Message message, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references, Outbox outbox)
            throws RejectedMessageException {
        long exchange = exchanges.incrementAndGet();
        ServedCall begun = new ServedCall(outbox.caller(), outbox.rpc());
        link.uses();
        served.put(exchange, begun);
        try {
            requireConnected();
            channel.write(head(message).toCall(exchange, shared, payload, tensors, references));
            SocketFrame frame = await(begun.outcome(), message.remainingNs());
            respond(message.type(), frame, outbox.buffers(), outbox::respond, outbox::respond);
        } catch (TimeoutException e) {
            giveUp(exchange, begun.outcome());
            throw timedOut(e);
        } catch (InterruptedException e) {
            giveUp(exchange, begun.outcome());
            Thread.currentThread().interrupt();
            throw new RejectedMessageException(
                    ErrorCode.HANDLER_GONE, "the gateway stops while " + name + " serves the request", e);
        } finally {
            ended(exchange);
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

    private void giveUp(long exchange, CompletableFuture<SocketFrame> outcome) {
        channel.write(SocketFrame.empty(SocketFrame.Kind.CANCEL, exchange));
        if (outcome.cancel(false) || outcome.isCompletedExceptionally()) {
            return;
        }
        try { // it arrived at the last moment
            discard(outcome.join());
        } catch (ProtocolException e) {
            disconnect(e);
        } finally {
            shared.references().decoded(exchange);
        }
    }

    // ---- results

    /**
     * Handles the last frame of an exchange.
     *
     * @param threads for results that need a long copy
     */
    void ended(SocketFrame frame, Executor threads) throws ProtocolException {
        if (frame.exchange() == 0) {
            throw new ProtocolException(
                    "the process ended the connection: " + frame.error().text());
        }
        ServedCall exchange = served.remove(frame.exchange());
        if (exchange != null) {
            shared.references().received(frame.exchange()); // what it names may be dropped by the next frame
            if (exchange.isAwaited() || CallFrame.copiedBytes(frame) <= ProcessLink.MAX_COPIED) {
                complete(exchange, frame);
            } else { // copying may take long, and other frames follow
                threads.execute(() -> complete(exchange, frame));
            }
        } else if (frame.exchange() > exchanges.get() || frame.exchange() < 0) {
            throw new ProtocolException(
                    frame.kind() + " names exchange " + frame.exchange() + ", and the last one is " + exchanges.get());
        } else { // cancelled before: no caller waits, but its regions must be freed
            discard(frame);
        }
    }

    private void complete(ServedCall exchange, SocketFrame frame) {
        if (exchange.outcome().complete(frame)) {
            return;
        }
        try { // its deadline has passed
            discard(frame);
        } catch (ProtocolException e) {
            disconnect(e);
        } finally {
            shared.references().decoded(frame.exchange());
        }
    }

    private void discard(SocketFrame frame) throws ProtocolException {
        if (frame.kind() == SocketFrame.Kind.RESULT) {
            CallFrame head = CallFrame.ofResult(frame);
            if (head.creates()) {
                link.forget(head.number());
            }
            try {
                read(channel, frame, shared).close();
            } catch (ProtocolException e) {
                throw e;
            } catch (IOException e) {
                throw new ProtocolException(e.getMessage());
            }
        }
    }

    /** Sender of a response. */
    @FunctionalInterface
    private interface Sender {
        void send(ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references);
    }

    private void respond(
            MessageType type, SocketFrame frame, TensorBuffers buffers, Consumer<Value> value, Sender sender)
            throws RejectedMessageException {
        try {
            if (frame.kind() == SocketFrame.Kind.FAILED) {
                throw frame.error().toRejection();
            }
            CallFrame head = CallFrame.ofResult(frame);
            KeptObject kept = head.creates() ? new KeptObject(link, head.number()) : null;
            int expected = type.response().map(MessageType::code).orElse(0);
            if (head.type() != expected || type.isCreating() != head.creates()) {
                if (kept != null) {
                    kept.release();
                }
                throw new RejectedMessageException(
                        ErrorCode.HANDLER_FAILED,
                        name + " responded to " + type + " with a message of type 0x" + Integer.toHexString(head.type())
                                + " instead of 0x" + Integer.toHexString(expected)
                                + (kept == null ? ", without" : ", with") + " the number of an object");
            }
            if (kept != null) {
                value.accept(kept.value()); // takes ownership of the count
                return;
            }
            try (ProcessMessage result = read(channel, frame, shared.with(buffers))) {
                for (Tensor tensor : result.tensors()) { // the response releases a count of each
                    tensor.storage().retain();
                }
                sender.send(result.payload(), result.tensors(), result.references());
            }
        } catch (IOException e) {
            disconnect(e);
            throw new RejectedMessageException(ErrorCode.WORKER_LOST, name + " was disconnected: " + e.getMessage(), e);
        }
    }

    // ---- both

    private static CallFrame head(Message message) {
        int flags = message.type().isCreating() ? CallFrame.CREATE : 0;
        return new CallFrame(message.type().code(), flags, message.from(), message.id(), message.remainingNs(), "");
    }

    private void ended(long exchange) {
        served.remove(exchange);
        shared.references().decoded(exchange);
        link.unused();
    }

    private void requireConnected() throws RejectedMessageException {
        if (!ended.isEmpty()) {
            throw new RejectedMessageException(ErrorCode.WORKER_LOST, ended);
        }
    }

    private RejectedMessageException timedOut(Throwable e) {
        return new RejectedMessageException(
                ErrorCode.TIMED_OUT, ProcessError.TIMED_OUT + name + " did not respond before the deadline", e);
    }

    /**
     * Reads the message of a frame. Afterwards the process may reuse the regions of its storages, even if memory for a
     * copy was missing.
     */
    static ProcessMessage read(FrameChannel channel, SocketFrame frame, CallFrame.Shared shared) throws IOException {
        long[] regions = CallFrame.regions(frame);
        boolean isMessage = true;
        try {
            return CallFrame.message(frame, shared);
        } catch (IOException e) {
            isMessage = false;
            throw e;
        } finally {
            if (isMessage && regions.length > 0) {
                channel.write(SocketFrame.of(SocketFrame.Kind.RELEASE, regions));
            }
        }
    }

    private void disconnect(IOException why) {
        channel.closeWith(
                SocketFrame.of(0, new ProcessError(ErrorCode.MALFORMED_BODY, String.valueOf(why.getMessage()))));
    }
}
