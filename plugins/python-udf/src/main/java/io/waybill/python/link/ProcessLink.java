package io.waybill.python.link;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.Message;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Value;
import io.waybill.api.ValueEncoder;
import io.waybill.api.broker.Broker;
import io.waybill.api.handler.Outbox;
import io.waybill.python.wire.CallFrame;
import io.waybill.python.wire.FrameChannel;
import io.waybill.python.wire.Hello;
import io.waybill.python.wire.ProcessMessage;
import io.waybill.python.wire.ProtocolException;
import io.waybill.python.wire.SocketFrame;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A connected process, with the worker that calls and serves in its name.
 *
 * <p><b>Threads.</b> {@link #run} is called by one thread, which reads; {@link #blocks} by one that polls for its worker, {@link #begin} by such a thread or one of a handler, and {@link #serve} by
 * those of handlers.
 */
public final class ProcessLink implements AutoCloseable {

    /** Bytes of a message up to which they are copied by a thread that polls or reads: to another one they would come later. */
    static final int MAX_COPIED = 1 << 20;

    private final FrameChannel channel;
    private final Broker broker;
    private final CallFrame.Shared shared;
    private final ServedCalls served;
    private final OutgoingCalls calls;
    private final Control control;
    private final AtomicInteger uses = new AtomicInteger(); // requests that it is serving, and objects that it keeps
    private volatile boolean leaves; // when it has no use any more

    private ProcessLink(String name, FrameChannel channel, Broker broker, CallFrame.Shared shared, Control control) {
        this.channel = channel;
        this.broker = broker;
        this.shared = shared;
        this.control = control;
        this.served = new ServedCalls(name, channel, broker, shared, this);
        this.calls = new OutgoingCalls(
                channel, broker, shared, new GatewayOperations(this, broker, shared, control), served);
    }

    /**
     * Creates a link to a process that has sent its {@link Hello}, with what it shares with the gateway.
     *
     * @param name of the process, for errors
     * @param broker of the worker that calls in the process's name
     * @param control of operations on the gateway itself
     * @throws IllegalStateException when the broker is revoked
     */
    public static ProcessLink to(String name, Hello hello, FrameChannel channel, Broker broker, Control control) {
        CallFrame.Shared shared = Welcomes.shared(hello, broker);
        ProcessLink made = null;
        try {
            made = new ProcessLink(name, channel, broker, shared, control);
            return made;
        } finally {
            if (made == null) {
                shared.close();
            }
        }
    }

    /**
     * Shows what a process says of itself to all who are in the home.
     *
     * @param broker of the worker that takes part in its name
     * @throws CallException when that can't be written
     * @throws IllegalArgumentException when it is too long
     */
    public static void show(Broker broker, Value.Dict member) {
        try {
            MemberFile.show(broker, member);
        } catch (IOException e) {
            throw new CallException(
                    ErrorKind.UNKNOWN_ERROR,
                    ErrorCode.RESOURCE_UNAVAILABLE,
                    0,
                    "worker " + broker.self().worker().name() + " can't show its rank to the home: " + e,
                    e);
        }
    }

    /**
     * Sends the WELCOME.
     *
     * @param byValue whether calls may contain code
     * @param path to put in front of the process's own
     * @param reload whether the process leaves when a file has changed that it has imported from there
     */
    public void welcome(boolean byValue, List<String> path, boolean reload) {
        channel.write(Welcomes.frame(broker, shared, byValue, path, reload));
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
                case CALL -> send(() -> calls.begin(frame));
                case RESULT, FAILED -> send(() -> served.ended(frame, calls.threads()));
                case RELEASE -> released(frame.numbers());
                case UNMAP -> shared.parts().release(frame.numbers());
                case DROP -> shared.references().drop(frame.numbers());
                case LEAVE -> {
                    return true;
                }
                default -> throw new ProtocolException("a process sends no " + frame.kind() + " here");
            }
        }
    }

    /** What a frame of the process has sent. */
    @FunctionalInterface
    private interface Sends {
        void run() throws IOException;
    }

    private void send(Sends sends) throws IOException {
        try {
            control.sendAndPoll(() -> {
                try {
                    sends.run();
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
        } catch (UncheckedIOException e) {
            throw e.getCause();
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

    /** Returns whether {@link #begin} waits for a request, or copies much. */
    public boolean blocks(Message message) {
        return message.type() == MessageType.PYTHON_RREF_FETCH_CALL
                || served.areMany()
                || message.payload().remaining() + shared.copiedBytes(message.tensors()) > MAX_COPIED;
    }

    /**
     * Has the process serve a request, and responds when that has. Waits only for an object, and if the process is serving many requests and this thread may.
     *
     * @throws RejectedMessageException when the process has ended, or as {@link #serve}
     */
    public void begin(Message message, Outbox outbox) throws RejectedMessageException {
        if (message.type() == MessageType.PYTHON_RREF_FETCH_CALL || served.areMany() && broker.mayWait()) {
            serve(message, outbox);
        } else {
            served.begin(message, outbox);
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
            served.serve(message, message.payload(), message.tensors(), message.references(), outbox);
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
        String ended = keeper.served.whyEnded();
        if (!ended.isEmpty()) {
            throw new RejectedMessageException(ErrorCode.OWNER_LOST, "the object is gone: " + ended);
        }
        byte[] number = new ValueEncoder()
                .value(new Value.Dict(Map.of(Value.of("object"), Value.of(object.number()))))
                .toBytes();
        keeper.served.serve(message, ByteBuffer.wrap(number), List.of(), List.of(), outbox);
    }

    /** Notes one more request that the process is serving, or object that references name. */
    void uses() {
        uses.incrementAndGet();
    }

    /** Notes that no reference names an object any more. */
    void forgets(long object) {
        forget(object);
        unused();
    }

    /** Has the process forget an object. */
    void forget(long object) {
        channel.write(SocketFrame.of(SocketFrame.Kind.FORGET, object));
    }

    /** Notes the end of what {@link #uses} noted. */
    void unused() {
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

    /** Returns the number of requests that the process is serving. */
    public int serving() {
        return served.size();
    }

    /** Fails what the process was serving, and releases what it held, but for what it may have mapped. */
    public void end(String why) {
        channel.close();
        calls.close();
        served.end(why);
        shared.close();
    }

    /** Releases what the process may have mapped: it has ended, or the worker that took part in its name. */
    public void unmapped() {
        shared.parts().close();
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
