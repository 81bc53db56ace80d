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
 * Connected process, with the worker that calls and serves on its behalf.
 *
 * <p><b>Threads.</b> {@link #run}: one thread, which reads. {@link #blocks}: the poller of its worker. {@link #begin}:
 * the poller or a handler's thread. {@link #serve}: handlers' threads.
 */
public final class ProcessLink implements AutoCloseable {

    /**
     * Size of a message up to which the polling or reading thread copies it, because a switch of threads would take
     * longer.
     */
    static final int MAX_COPIED = 1 << 20;

    private final FrameChannel channel;
    private final Broker broker;
    private final CallFrame.Shared shared;
    private final ServedCalls served;
    private final OutgoingCalls calls;
    private final Control control;
    // number of requests that it is serving, and of objects that it holds
    private final AtomicInteger uses = new AtomicInteger();
    private volatile boolean leaves; // whether it leaves after its last use

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
     * Creates a link to a process that has sent its {@link Hello}, with its shared files.
     *
     * @param name of the process, for errors
     * @param broker broker of the worker that calls on the process's behalf
     * @param control operations on the gateway itself
     * @throws IllegalStateException if the broker is revoked
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
     * Publishes the information of a process for all workers of the home.
     *
     * @param broker broker of the process's worker
     * @throws CallException if it can't be written
     * @throws IllegalArgumentException if it is too long
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
     * @param path entries before the process's own import path
     * @param reload whether the process leaves after a change of a file that it imported from there
     */
    public void welcome(boolean byValue, List<String> path, boolean reload) {
        channel.write(Welcomes.frame(broker, shared, byValue, path, reload));
    }

    /**
     * Reads frames until the process leaves or its connection ends.
     *
     * @return whether it left in order
     * @throws IOException if the connection failed, or the process violated the protocol
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

    /** Task that sends the messages of a frame. */
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
     * Makes the process serve a request, and responds later. Waits only for an object, and, if this thread may, while
     * the process is serving many requests.
     *
     * @throws RejectedMessageException if the process has ended, or as in {@link #serve}
     */
    public void begin(Message message, Outbox outbox) throws RejectedMessageException {
        if (message.type() == MessageType.PYTHON_RREF_FETCH_CALL || served.areMany() && broker.mayWait()) {
            serve(message, outbox);
        } else {
            served.begin(message, outbox);
        }
    }

    /**
     * Makes the process serve a request, waits for the result, and responds with it.
     *
     * @throws RejectedMessageException if the process responds with an error or ends, or the deadline passes
     */
    public void serve(Message message, Outbox outbox) throws RejectedMessageException {
        if (message.type() == MessageType.PYTHON_RREF_FETCH_CALL) {
            fetch(message, outbox);
        } else {
            served.serve(message, message.payload(), message.tensors(), message.references(), outbox);
        }
    }

    /**
     * Makes the process that holds the object of a reference respond with it. Waits for the response, and until the
     * object was created.
     *
     * @param message a fetch, with a reference to a value of this worker
     * @throws RejectedMessageException if there is no such object, or its process responds with an error or has ended,
     *     or the deadline passes
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

    /** Counts a request that the process is serving, or an object that references name. */
    void uses() {
        uses.incrementAndGet();
    }

    /** Records that no reference names an object any longer. */
    void forgets(long object) {
        forget(object);
        unused();
    }

    /** Makes the process drop an object. */
    void forget(long object) {
        channel.write(SocketFrame.of(SocketFrame.Kind.FORGET, object));
    }

    /** Uncounts a use that {@link #uses} counted. */
    void unused() {
        uses.decrementAndGet();
        leaveIfUnused();
    }

    /**
     * Disconnects the process in order, as soon as it serves no request and holds no object. Until then it receives
     * only requests for objects.
     */
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

    /**
     * Fails the requests that the process was serving, and releases its resources, except memory that it may have
     * mapped.
     */
    public void end(String why) {
        channel.close();
        calls.close();
        served.end(why);
        shared.close();
    }

    /** Releases memory that the process may have mapped, after the process or its worker has ended. */
    public void unmapped() {
        shared.parts().close();
    }

    /** Disconnects the process. */
    @Override
    public void close() {
        channel.close();
    }

    /** Returns a request with the content of a message. */
    static Request request(String to, int type, ProcessMessage message) {
        return Request.raw(to, MessageType.of(type), message.payload(), message.tensors(), message.references());
    }

    /** Returns the broker of the worker that calls on the process's behalf. */
    public Broker broker() {
        return broker;
    }
}
