package io.waybill.replay.slice;

import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.query.MessageFilter;
import io.waybill.replay.RecordedHome;
import io.waybill.replay.recording.HomeRecording;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** A home whose workers called each other with tensors, with calls from handlers, and with references. */
final class SlicedHome implements AutoCloseable {

    static final MessageType ASK = MessageType.userRequest(0x42);
    private static final Duration SOON = Duration.ofSeconds(60);
    private static final int LARGE_EVERY = 25;

    final RecordedHome home;

    SlicedHome(Path directory) throws IOException {
        home = new RecordedHome(directory);
    }

    private HandlerRegistry store() {
        HandlerRegistry handlers = home.workers.registry();
        home.workers.handle(handlers, "0x142", (message, outbox) -> {
            message.tensors().forEach(tensor -> tensor.storage().retain());
            outbox.respond(message.payload(), message.tensors());
        });
        return handlers;
    }

    private HandlerRegistry front() {
        HandlerRegistry handlers = home.workers.registry();
        fill(handlers);
        return handlers;
    }

    /** Response of front. */
    void fill(HandlerRegistry handlers) {
        home.workers.handle(handlers, "0x142", (message, outbox) -> {
            if (message.payload().get(message.payload().position()) % 10 == 0) {
                outbox.caller()
                        .call(RecordedHome.raw("store", 0x42, new byte[] {1}))
                        .close();
            }
            message.tensors().forEach(tensor -> tensor.storage().retain());
            outbox.respond(message.payload(), message.tensors());
        });
        home.workers.handle(handlers, "SCRIPT_CALL", (message, outbox) -> outbox.respond(run(message.invocation())));
    }

    private static Value run(Invocation call) throws RejectedMessageException {
        Value argument = call.positional().get(0);
        if (argument instanceof Value.OfRRef reference) {
            try (Response fetched = reference.value().toHere(SOON)) {
                return fetched.value();
            }
        }
        return argument;
    }

    /** Calls of {@link #ASK} with a small tensor each, every 25th with one that is archived. All workers have left then. */
    SlicedHome calls(int count) throws Exception {
        Worker store = home.join("store", store());
        Worker front = home.join("front", front());
        Worker app = home.join("app");
        List<CompletableFuture<Response>> responses = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Tensor tensor = tensor(app, i % LARGE_EVERY == 0 ? 10_000 + i : 16, i);
            responses.add(
                    app.callAsync(Request.raw("front", ASK, ByteBuffer.wrap(new byte[] {(byte) i}), List.of(tensor))));
            tensor.storage().release();
            if (responses.size() == 50) {
                await(responses);
            }
        }
        await(responses);
        List.of(app, front, store).forEach(SlicedHome::leave);
        return this;
    }

    private static void await(List<CompletableFuture<Response>> responses) throws Exception {
        for (CompletableFuture<Response> response : responses) {
            response.get(60, TimeUnit.SECONDS).close();
        }
        responses.clear();
    }

    /** A value that a request made, one that was made of it, and a call that is given this one. */
    SlicedHome references() throws Exception {
        Worker front = home.join("front", front());
        Worker app = home.join("app");
        try (RRef first = app.rpc().remote("front", call(Value.of(7)));
                RRef second = app.rpc().remote("front", call(Value.of(first)))) {
            app.rpc().rpcSync("front", call(Value.of(second))).close();
        }
        List.of(app, front).forEach(SlicedHome::leave);
        return this;
    }

    private static Invocation call(Value argument) {
        return new Invocation("test::same", List.of(argument), Map.of());
    }

    private static Tensor tensor(Worker worker, int length, int seed) {
        Storage storage = worker.buffers().allocate(length);
        ByteBuffer bytes = storage.bytes(0, length);
        for (int i = 0; i < length; i++) {
            bytes.put(i, (byte) (i * 31 + seed));
        }
        return Tensor.contiguous(DType.UINT8, new long[] {length}, storage);
    }

    private static void leave(Worker worker) {
        try {
            worker.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    HomeRecording recording() throws IOException {
        return home.recording();
    }

    SliceInfo slice(MessageFilter filter, Payloads payloads, Path out) throws IOException {
        try (HomeRecording recording = recording()) {
            return SliceWriter.write(recording, filter, payloads, out, calls -> {});
        }
    }

    SliceRecording open(Path slice) throws IOException {
        return SliceRecording.open(slice, home.workers.host);
    }

    @Override
    public void close() throws IOException {
        home.close();
    }
}
