package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.host.NativeCalls;
import io.waybill.tensor.HostMemory;
import io.waybill.tensor.memory.NativeMemory;
import io.waybill.tensor.segment.Leases;
import io.waybill.tensor.segment.TensorConfig;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tensors through calls. */
@Timeout(60)
class TensorCallTest {

    private static final WorkerSettings SETTINGS = Workers.SETTINGS.toBuilder()
            .tensors(new TensorConfig(8 << 20, 64 << 20, 4096, 64 << 10))
            .build();

    @TempDir
    private Path directory;

    private Workers workers;
    private Worker first;
    private Worker caller;
    private HandlerRegistry handlers;

    @BeforeEach
    void open() throws IOException {
        workers = new Workers(directory);
        handlers = workers.registry();
        first = workers.join("server", handlers, SETTINGS);
        caller = workers.join("caller", workers.registry(), SETTINGS);
    }

    @AfterEach
    void leave() throws IOException {
        workers.close();
    }

    private Tensor floats(int count, float first) {
        Storage storage = caller.buffers().allocate(4L * count);
        ByteBuffer bytes = storage.bytes(0, 4 * count);
        for (int i = 0; i < count; i++) {
            bytes.putFloat(4 * i, first + i);
        }
        return Tensor.contiguous(DType.FLOAT32, new long[] {count}, storage);
    }

    private static float at(Tensor tensor, int index) {
        return tensor.storage()
                .bytes(4 * (tensor.storageOffset() + index * tensor.stride(0)), 4)
                .getFloat(0);
    }

    private static Request request(Tensor... tensors) {
        return Request.raw("server", MessageType.userRequest(0x42), ByteBuffer.allocate(1), List.of(tensors));
    }

    private void echo() {
        workers.handle(handlers, "0x142", (message, outbox) -> {
            message.tensors().forEach(tensor -> tensor.storage().retain());
            outbox.respond(message.payload(), message.tensors());
        });
    }

    @Test
    void bringsSmallAndLargeTensorsThereAndBack() {
        echo();
        for (int count : new int[] {0, 1, 1000, 100_000, 1_000_000}) {
            Tensor sent = floats(count, 0.5f);

            try (Response response = caller.call(request(sent))) {
                Tensor back = response.tensors().get(0);
                assertThat(back.sizes()).containsExactly(count);
                if (count > 0) {
                    assertThat(at(back, 0)).isEqualTo(0.5f);
                    assertThat(at(back, count - 1)).isEqualTo(count - 0.5f);
                }
            }
            sent.storage().release();
        }
    }

    @Test
    void keepsThePollerWaitingForNoCallerThatHoldsTooMuch() {
        workers.handleOnPoller(handlers, "0x142", (message, outbox) -> {
            Storage storage = outbox.buffers().allocate(10_000);
            outbox.respond(message.payload(), List.of(Tensor.contiguous(DType.UINT8, new long[] {10_000}, storage)));
        });
        List<Response> held = new ArrayList<>();
        for (int i = 0; i < Leases.MAX_OUTSTANDING; i++) {
            held.add(caller.call(request()));
        }
        // off the poller a response waits longer than this for room
        assertThatThrownBy(() -> caller.call(request().timeout(Duration.ofSeconds(3))))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.BACK_PRESSURE));
        held.forEach(Response::close);
        caller.call(request()).close();
    }

    @Test
    void keepsMemoryBoundedOverManyCalls() {
        echo();
        Tensor sent = floats(1_000_000, 1);
        for (int i = 0; i < 300; i++) {
            caller.call(request(sent)).close();
        }
        sent.storage().release();
    }

    @Test
    void letsAHandlerKeepATensorBeyondItsCall() {
        AtomicReference<Tensor> kept = new AtomicReference<>();
        workers.handle(handlers, "0x142", (message, outbox) -> {
            if (kept.get() == null) {
                message.tensors().get(0).storage().retain();
                kept.set(message.tensors().get(0));
            }
            outbox.respond(message.payload());
        });
        Tensor small = floats(10, 7);
        caller.call(request(small));
        small.storage().release();
        for (int i = 0; i < 50; i++) {
            Tensor other = floats(10, -1);
            caller.call(request(other));
            other.storage().release();
        }

        assertThat(at(kept.get(), 9)).isEqualTo(16f);
        kept.get().storage().release();
    }

    @Test
    void givesRegionsBackWhenARequestIsRefusedOrUnanswered() {
        Tensor large = floats(4_000_000, 1); // 16 MB of 64
        for (int i = 0; i < 20; i++) {
            assertThatThrownBy(() -> caller.call(request(large))).isInstanceOf(CallException.class);
        }
        large.storage().release();
        workers.handle(handlers, "0x142", (message, outbox) -> {
            throw new RejectedMessageException(ErrorCode.REFUSED, "no");
        });
        for (int i = 0; i < 20; i++) {
            Tensor again = floats(4_000_000, 1);
            assertThatThrownBy(() -> caller.call(request(again))).hasMessage("no");
            again.storage().release();
        }
    }

    @Test
    void reportsATensorThatFindsNoRoom() {
        echo();
        assertThatThrownBy(() -> floats(20_000_000, 1))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.DEVICE_FULL));
        bringsSmallAndLargeTensorsThereAndBack();
    }

    @Test
    void waitsWithATensorUntilReceiversHaveReleasedOthers() throws Exception {
        HostMemory memory = new HostMemory(new NativeMemory(NativeCalls.load()));
        Storage storage = memory.allocate(40 << 20); // of 64
        Tensor sent = Tensor.contiguous(DType.UINT8, new long[] {40 << 20}, storage);
        List<Tensor> kept = new CopyOnWriteArrayList<>();
        workers.handle(handlers, "0x142", (message, outbox) -> {
            message.tensors().forEach(tensor -> tensor.storage().retain());
            kept.addAll(message.tensors());
            outbox.respond(message.payload());
        });
        caller.call(request(sent)).close();

        assertThatThrownBy(() -> caller.call(request(sent).timeout(Duration.ofMillis(100))))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.TIMED_OUT))
                .hasMessageContaining("no room for 41943040 bytes of tensors")
                .hasMessageContaining("41943040 by worker server (id 0) with 1 lease");

        CompletableFuture<Void> next = CompletableFuture.runAsync(
                () -> caller.call(request(sent).timeout(Duration.ofSeconds(60))).close());
        kept.remove(0).storage().release();
        next.get(60, TimeUnit.SECONDS);
        kept.remove(0).storage().release();
        storage.release();
        assertThat(memory.liveBytes()).isZero();
    }

    @Test
    void doesNotWaitWithATensorThatNeverFits() {
        HostMemory memory = new HostMemory(new NativeMemory(NativeCalls.load()));
        Storage storage = memory.allocate(65 << 20); // of 64
        Tensor sent = Tensor.contiguous(DType.UINT8, new long[] {65 << 20}, storage);
        assertThatThrownBy(() -> caller.call(request(sent)))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.DEVICE_FULL));
        storage.release();
    }

    /** The handler itself cuts the file, so that it happens between the arrival of the tensor and its use. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void refusesWhatAHandlerMadeOfASegmentThatWasCutMeanwhile(boolean onPoller) throws IOException {
        MessageHandler summing = (message, outbox) -> {
            resize(4096);
            outbox.respond(Value.of(sum(message.tensors().get(0))));
        };
        if (onPoller) {
            workers.handleOnPoller(handlers, "0x143", summing);
        } else {
            workers.handle(handlers, "0x143", summing);
        }
        echo();
        Tensor sent = floats(100_000, 1);
        for (int i = 0; i < 100; i++) {
            assertThatThrownBy(() -> caller.call(Request.raw(
                            "server", MessageType.userRequest(0x43), ByteBuffer.allocate(1), List.of(sent))))
                    .isInstanceOfSatisfying(
                            CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.PEER_CORRUPT));
            resize(8 << 20);
            caller.call(request()).close();
        }
        sent.storage().release();
    }

    private static float sum(Tensor tensor) {
        float sum = 0;
        for (int i = 0; i < tensor.sizes()[0]; i++) {
            sum += at(tensor, i);
        }
        return sum;
    }

    private void resize(long bytes) {
        Path segments = caller.directory().path().resolve("segments");
        try (Stream<Path> files = Files.list(segments);
                RandomAccessFile file =
                        new RandomAccessFile(files.findFirst().orElseThrow().toFile(), "rw")) {
            file.setLength(bytes);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void aReceiverThatJoinsAgainHasNoneOfItsFormerLeases() throws IOException {
        List<Storage> kept = new CopyOnWriteArrayList<>();
        workers.handle(handlers, "0x142", (message, outbox) -> {
            message.tensors().forEach(each -> kept.add(each.storage().retain()));
            outbox.respond(message.payload());
        });
        Tensor sent = floats(1 << 18, 0);
        caller.call(request(sent)).close();
        sent.storage().release();
        Workers.whileNotPolling(
                caller,
                () -> { // the link to the first one is kept
                    try {
                        first.close();
                        workers.join("server", handlers, SETTINGS);
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                    Waits.until("both are linked", () -> Workers.linked(caller).equals(List.of("server", "server")));
                });
        caller.call(request(floats(1 << 18, 0))).close();
        kept.get(0).release(); // of one that has ended: its sender does not hear of it
        Waits.until("the leases of the one that has left end", () -> Workers.leases(caller) == 1);
        Leases leases = caller.parts.transit.pool().leases();
        leases.pollAll();
        assertThat(leases.wrongClaims())
                .as("the cursors are those of the next incarnation")
                .isZero();
        kept.get(1).release();
    }
}
