package io.waybill.python;

import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.Value;
import io.waybill.api.ValueDecoder;
import io.waybill.api.ValueEncoder;
import io.waybill.python.wire.CallFrame;
import io.waybill.python.wire.FrameChannel;
import io.waybill.python.wire.HandleTable;
import io.waybill.python.wire.ProcessMessage;
import io.waybill.python.wire.SegmentParts;
import io.waybill.python.wire.SocketFrame;
import io.waybill.testing.core.TestBuffers;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A process of the test, which speaks the protocol as a client does. For one thread. */
final class TestProcess implements AutoCloseable {

    private static final long LIMIT_MS = 120_000;

    final CallFrame.Shared shared =
            new CallFrame.Shared(null, new SegmentParts(false), new HandleTable(), new TestBuffers());
    private final FrameChannel channel;

    TestProcess(Path path) throws IOException {
        channel = new FrameChannel(SocketChannel.open(UnixDomainSocketAddress.of(path)));
    }

    static Map<Value, Value> hello(String name) {
        Map<Value, Value> fields = new LinkedHashMap<>();
        fields.put(Value.of("protocol"), Value.of(1));
        fields.put(Value.of("role"), Value.of("client"));
        fields.put(Value.of("name"), Value.of(name));
        fields.put(Value.of("pid"), Value.of(ProcessHandle.current().pid()));
        return fields;
    }

    /** Connects as a worker. */
    static TestProcess joined(Path path, String name) throws IOException {
        return joined(path, hello(name));
    }

    /** Connects with this HELLO. */
    static TestProcess joined(Path path, Map<Value, Value> hello) throws IOException {
        TestProcess process = new TestProcess(path);
        process.send(SocketFrame.of(SocketFrame.Kind.HELLO, new Value.Dict(hello)));
        SocketFrame welcome = process.read();
        if (welcome.kind() != SocketFrame.Kind.WELCOME) {
            process.close();
            throw new IOException(welcome.error().text());
        }
        return process;
    }

    void send(ByteBuffer frame) {
        channel.write(frame);
    }

    /** Returns the next frame; null at the end. */
    SocketFrame read() throws IOException {
        return channel.read(SocketFrame.MAX_BODY, LIMIT_MS);
    }

    /** @param what is expected */
    SocketFrame read(String what) throws IOException {
        try {
            return read();
        } catch (IOException e) {
            throw new IOException("no " + what + ": " + e.getMessage(), e);
        }
    }

    /** @param parent exchange of the request on whose behalf it calls; 0 for none */
    void call(long exchange, long parent, String to, MessageType type, Invocation call) throws Exception {
        ValueEncoder encoder = new ValueEncoder();
        call.encode(encoder);
        send(new CallFrame(type.code(), 0, 0, parent, 0, to)
                .toCall(exchange, shared, ByteBuffer.wrap(encoder.toBytes()), encoder.tensors(), List.of()));
    }

    /** Calls an operation of the gateway on a reference, by its handle. */
    void callOn(long exchange, String operation, long handle) {
        byte[] payload = invocation(operation);
        send(SocketFrame.start(SocketFrame.Kind.CALL, exchange, 52 + payload.length)
                .putLong(MessageType.NAMED_CALL.code())
                .putLong(0)
                .putLong(0)
                .putInt(payload.length)
                .putInt(0)
                .putInt(1)
                .putLong(handle)
                .putLong(0)
                .put(payload)
                .flip());
    }

    /** Returns a call with the message's first reference in the field {@code reference}. */
    private static byte[] invocation(String operation) {
        byte[] name = operation.getBytes(StandardCharsets.UTF_8);
        byte[] field = new ValueEncoder().value(Value.of("reference")).toBytes();
        return ByteBuffer.allocate(2 + name.length + 8 + field.length + 5)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putShort((short) name.length)
                .put(name)
                .putInt(0)
                .putInt(1)
                .put(field)
                .put((byte) 15)
                .putInt(0)
                .array();
    }

    /** Has a function's result left on the callee. */
    void create(long exchange, String to, Invocation call, long timeoutNs) throws Exception {
        create(exchange, to, MessageType.PYTHON_CALL, call, timeoutNs);
    }

    void create(long exchange, String to, MessageType type, Invocation call, long timeoutNs) throws Exception {
        ValueEncoder encoder = new ValueEncoder();
        call.encode(encoder);
        send(new CallFrame(type.code(), CallFrame.CREATE, 0, 0, timeoutNs, to)
                .toCall(exchange, shared, ByteBuffer.wrap(encoder.toBytes()), encoder.tensors(), List.of()));
    }

    /** Responds that an object is kept under this number. */
    void keep(SocketFrame call, long number) throws Exception {
        send(new CallFrame(MessageType.REMOTE_RET.code(), CallFrame.CREATE, 0, number, 0, "")
                .toResult(call.exchange(), shared, ByteBuffer.allocate(0), List.of(), List.of()));
    }

    /** Responds with a reference, which it drops right behind. */
    void respondAndDrop(SocketFrame call, MessageType type, long handle) {
        byte[] payload = new ValueEncoder().value(Value.NONE).toBytes();
        ByteBuffer result = SocketFrame.start(SocketFrame.Kind.RESULT, call.exchange(), 44 + payload.length)
                .putLong(type.code())
                .putLong(0)
                .putInt(payload.length)
                .putInt(0)
                .putInt(1)
                .putLong(handle)
                .putLong(0)
                .put(payload)
                .flip();
        ByteBuffer drop = SocketFrame.of(SocketFrame.Kind.DROP, handle);
        send(ByteBuffer.allocate(result.remaining() + drop.remaining())
                .put(result)
                .put(drop)
                .flip());
    }

    /** Returns the handle of the only reference of a result. */
    static long handle(SocketFrame result) throws IOException {
        if (result.kind() != SocketFrame.Kind.RESULT) {
            throw new IOException(result.kind() + ": " + result.error());
        }
        CallFrame.ofResult(result);
        ByteBuffer message = result.body().slice().order(ByteOrder.LITTLE_ENDIAN);
        if (message.getShort(8) != 1) {
            throw new IOException("a result with " + message.getShort(8) + " references");
        }
        return message.getLong(12);
    }

    void respond(SocketFrame call, MessageType type, Value value) throws Exception {
        ValueEncoder encoder = new ValueEncoder().value(value);
        send(new CallFrame(type.code(), 0, 0, 0, 0, "")
                .toResult(call.exchange(), shared, ByteBuffer.wrap(encoder.toBytes()), encoder.tensors(), List.of()));
    }

    /** Reads the value of a result. */
    Value value(SocketFrame result) throws Exception {
        if (result.kind() != SocketFrame.Kind.RESULT) {
            throw new IOException(result.kind() + ": " + result.error());
        }
        CallFrame.ofResult(result);
        ProcessMessage message = CallFrame.message(result, shared);
        return new ValueDecoder(message.payload(), message.tensors()).value();
    }

    @Override
    public void close() {
        channel.close();
    }
}
