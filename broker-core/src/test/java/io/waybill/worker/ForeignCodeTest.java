package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.Value;
import io.waybill.api.device.DeviceConverter;
import io.waybill.api.device.DeviceStream;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerStatus;
import io.waybill.dispatch.StuckSettings;
import io.waybill.tensor.segment.TensorConfig;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * What is foreign misbehaves in each of its methods, in each way: its call has one outcome, others are served meanwhile, and every count
 * returns to zero.
 */
@Timeout(120)
class ForeignCodeTest {

    private static final WorkerSettings SETTINGS = Workers.SETTINGS.toBuilder()
            .devices(Workers.TOYS)
            .tensors(new TensorConfig(8 << 20, 64 << 20, 4096, 64 << 10))
            .stuck(new StuckSettings(Duration.ofMillis(100).toNanos(), 0, 100))
            .build();
    private static final int BYTES = 100_000; // travels through a segment, so that its lease has to come back
    private static final Duration SOON = Duration.ofSeconds(1);

    /** What it does instead. */
    enum Fault {
        EXCEPTION,
        ERROR,
        UNREADABLE,
        NULL,
        HANG
    }

    /** Where. */
    enum Position {
        HANDLER,
        NON_BLOCKING_HANDLER,
        HANDLER_AFTER_LATER,
        HANDLER_AFTER_LATE_RESPONSE,
        CALLEE_CONVERTER_UNAVAILABLE,
        CALLEE_CONVERTER_STREAMS,
        CALLEE_CONVERTER_ALLOCATE,
        CALLEE_CONVERTER_ALLOCATE_FOR_NON_BLOCKING,
        CALLEE_CONVERTER_PREPARE,
        CALLEE_CONVERTER_PREPARE_INLINE,
        CALLEE_CONVERTER_PREPARE_LATE,
        CALLEE_STORAGE_DEVICE,
        CALLEE_STORAGE_SIZE,
        CALLEE_STORAGE_RETAIN,
        CALLEE_STORAGE_RELEASE,
        CALLER_CONVERTER_UNAVAILABLE,
        CALLER_CONVERTER_STREAMS,
        CALLER_CONVERTER_ALLOCATE,
        CALLER_CONVERTER_PREPARE,
        CALLER_STORAGE_DEVICE,
        CALLER_STORAGE_SIZE,
        CALLER_STORAGE_RETAIN,
        CALLER_STORAGE_RELEASE,
        LISTENER_RESPONSE,
        LISTENER_FAILURE,
        FUTURE_STAGE
    }

    @TempDir
    private Path directory;

    private volatile CountDownLatch hold = new CountDownLatch(1);
    private volatile CountDownLatch slow = new CountDownLatch(1);
    private final AtomicInteger happened = new AtomicInteger();
    private volatile Position position;
    private volatile Fault fault;
    private volatile boolean armed;
    private Workers workers;
    private HandlerRegistry handlers;
    private Worker server;
    private Worker caller;
    private final List<HandlerRegistry.Registration> registrations = new ArrayList<>();
    private final ConcurrentLinkedQueue<DeviceMemory> memories = new ConcurrentLinkedQueue<>();
    /** The threads that the callee's converter was called on for tensors that arrived. */
    private final ConcurrentLinkedQueue<String> converting = new ConcurrentLinkedQueue<>();

    @BeforeEach
    void joinTwo() throws IOException {
        workers = new Workers(directory);
        handlers = workers.registry();
        server = workers.join("server", handlers, SETTINGS);
        caller = workers.join("caller", workers.registry(), SETTINGS);
        server.devices().register("toy", new Toy("CALLEE"));
        caller.devices().register("toy", new Toy("CALLER"));
        handle("text.echo", false, (message, outbox) -> outbox.respond(Value.of("on")));
        handle("text.now", true, (message, outbox) -> outbox.respond(Value.of("on")));
        handle("t.echo", false, echo());
        handle("t.now", true, echo());
        handle("text.slow", false, (message, outbox) -> {
            try {
                slow.await(60, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            outbox.respond(Value.of("slow"));
        });
        handle("t.later", false, (message, outbox) -> {
            LateResponse late = outbox.later();
            message.tensors().forEach(tensor -> tensor.storage().retain());
            new Thread(() -> late.send(ByteBuffer.allocate(1), List.copyOf(message.tensors()))).start();
        });
    }

    @AfterEach
    void leave() throws IOException {
        armed = false;
        hold.countDown();
        workers.close();
    }

    private void handle(String key, boolean onPoller, MessageHandler handler) {
        registrations.add(
                onPoller ? workers.handleOnPoller(handlers, key, handler) : workers.handle(handlers, key, handler));
    }

    /** Responds with the tensors of the request, on which device they are. */
    private static MessageHandler echo() {
        return (message, outbox) -> {
            List<Tensor> tensors = message.tensors();
            tensors.forEach(tensor -> tensor.storage().retain());
            outbox.respond(ByteBuffer.allocate(1), tensors);
        };
    }

    // ---- faults

    private <T> T maybe(Position at, T otherwise) {
        if (!armed || position != at) {
            return otherwise;
        }
        happened.incrementAndGet();
        switch (fault) {
            case EXCEPTION -> throw new IllegalStateException("planted");
            case ERROR -> throw new StackOverflowError("planted");
            case UNREADABLE -> throw new Unreadable();
            case NULL -> {
                return null;
            }
            case HANG -> {
                boolean interrupted = false;
                CountDownLatch until = hold;
                while (until.getCount() > 0) {
                    try {
                        until.await(60, TimeUnit.SECONDS);
                    } catch (InterruptedException e) {
                        interrupted = true; // it does not care
                    }
                }
                if (interrupted) {
                    Thread.currentThread().interrupt();
                }
                return otherwise;
            }
        }
        throw new AssertionError(fault);
    }

    /** An exception whose every method throws, too. */
    private static final class Unreadable extends RuntimeException {
        private static final long serialVersionUID = 1L;

        @Override
        public String getMessage() {
            throw new IllegalStateException("planted in getMessage");
        }

        @Override
        public String toString() {
            throw new IllegalStateException("planted in toString");
        }

        @Override
        public StackTraceElement[] getStackTrace() {
            throw new IllegalStateException("planted in getStackTrace");
        }
    }

    private <T> T maybe(String side, String method, T otherwise) {
        Position at = Arrays.stream(Position.values())
                .filter(each -> each.name().equals(side + "_" + method))
                .findFirst()
                .orElse(null);
        return at == null ? otherwise : maybe(at, otherwise);
    }

    /** Memory on a device. */
    private final class DeviceMemory implements Storage {
        private final String side;
        private final byte[] content;
        private final Device device;
        private final AtomicInteger count = new AtomicInteger(1);

        DeviceMemory(String side, Device device, int size) {
            this.side = side;
            this.device = device;
            this.content = new byte[size];
            memories.add(this);
        }

        @Override
        public Device device() {
            return maybe(side, "STORAGE_DEVICE", device);
        }

        @Override
        public long sizeBytes() {
            Long size = maybe(side, "STORAGE_SIZE", (long) content.length);
            return size == null ? -1 : size; // as near to null as it gets
        }

        @Override
        public long address() {
            throw new IllegalStateException("not in host memory");
        }

        @Override
        public ByteBuffer bytes(long offset, int length) {
            throw new IllegalStateException("not in host memory");
        }

        @Override
        public Storage retain() {
            count.incrementAndGet();
            return maybe(side, "STORAGE_RETAIN", this);
        }

        @Override
        public void release() {
            if (count.decrementAndGet() < 0) {
                throw new IllegalStateException("released too often");
            }
            maybe(side, "STORAGE_RELEASE", this);
        }
    }

    /** Moves bytes to and from the device. */
    private final class Toy implements DeviceConverter {
        private final String side;

        Toy(String side) {
            this.side = side;
        }

        @Override
        public Optional<String> unavailable() {
            return maybe(side, "CONVERTER_UNAVAILABLE", Optional.empty());
        }

        @Override
        public List<DeviceStream> streams(Device device) {
            return maybe(side, "CONVERTER_STREAMS", List.of());
        }

        @Override
        public Optional<Storage> prepareForSending(Storage storage, List<DeviceStream> streams, TensorBuffers buffers) {
            byte[] content = ((DeviceMemory) storage).content;
            Storage copy = buffers.allocate(content.length);
            boolean done = false;
            try {
                copy.bytes(0, content.length).put(content);
                Optional<Storage> result = Optional.of(copy);
                for (String method :
                        List.of("CONVERTER_PREPARE", "CONVERTER_PREPARE_INLINE", "CONVERTER_PREPARE_LATE")) {
                    result = result == null ? null : maybe(side, method, result);
                }
                done = result != null;
                return result;
            } finally {
                if (!done) {
                    copy.release();
                }
            }
        }

        @Override
        public Storage allocateForReceiving(Storage arrived, Device target, List<DeviceStream> streams) {
            if (side.equals("CALLEE")) {
                converting.add(Thread.currentThread().getName());
            }
            DeviceMemory memory = new DeviceMemory(side, target, (int) arrived.sizeBytes());
            boolean done = false;
            try {
                arrived.bytes(0, memory.content.length).get(memory.content);
                Storage result = maybe(side, "CONVERTER_ALLOCATE", (Storage) memory);
                result = result == null ? null : maybe(side, "CONVERTER_ALLOCATE_FOR_NON_BLOCKING", result);
                done = result != null;
                return result;
            } finally {
                if (!done) {
                    memory.release();
                }
            }
        }
    }

    // ---- calls

    /** Counts outcomes, and misbehaves when it is asked to. */
    private final class Outcomes implements ResponseListener {
        private final AtomicInteger notified = new AtomicInteger();
        private volatile CompletableFuture<Response> future; // null when the call was made without one

        int count() {
            return future == null ? notified.get() : future.isDone() ? 1 : 0;
        }

        @Override
        public void onResponse(Response response) {
            notified.incrementAndGet();
            maybe(Position.LISTENER_RESPONSE, this);
        }

        @Override
        public void onFailure(CallException failure) {
            notified.incrementAndGet();
            maybe(Position.LISTENER_FAILURE, this);
        }
    }

    private Request tensorCall(String operation) {
        DeviceMemory memory = new DeviceMemory("CALLER", Device.parse("toy:0"), BYTES);
        memory.content[BYTES - 1] = 7;
        Tensor tensor = Tensor.contiguous(DType.UINT8, new long[] {BYTES}, memory);
        return withTensor(operation, tensor);
    }

    private static Request withTensor(String operation, Tensor tensor) {
        Request request = Request.operation("server", operation);
        request.body().tensor("t", tensor);
        return request;
    }

    private Request affected() {
        return switch (position) {
            case HANDLER, HANDLER_AFTER_LATER, HANDLER_AFTER_LATE_RESPONSE -> Request.operation("server", "text.bad");
            case NON_BLOCKING_HANDLER -> Request.operation("server", "text.bad.now");
            case CALLEE_CONVERTER_PREPARE_INLINE, CALLEE_CONVERTER_ALLOCATE_FOR_NON_BLOCKING -> tensorCall("t.now");
            case CALLEE_CONVERTER_PREPARE_LATE -> tensorCall("t.later");
            case LISTENER_FAILURE -> Request.operation("server", "text.unknown");
            default -> tensorCall("t.echo");
        };
    }

    private void handleBadly() {
        handle("text.bad", false, (message, outbox) -> {
            if (position == Position.HANDLER_AFTER_LATER) {
                outbox.later();
            } else if (position == Position.HANDLER_AFTER_LATE_RESPONSE) {
                Storage storage = outbox.buffers().allocate(BYTES);
                outbox.later().send(new Value.OfTensor(Tensor.contiguous(DType.UINT8, new long[] {BYTES}, storage)));
            }
            maybe(position, message);
        });
        handle("text.bad.now", true, (message, outbox) -> maybe(position, message));
    }

    private void othersAreServed() {
        for (String operation : List.of("text.echo", "text.now")) {
            isServed(
                    Request.operation("server", operation).timeout(Duration.ofSeconds(20)),
                    position + " with " + fault);
        }
    }

    /** Waits by itself, for a call gets no timeout either while no thread polls. */
    private void isServed(Request request, String meanwhile) {
        CompletableFuture<Response> call = caller.callAsync(request);
        assertThat(call)
                .as("a call of others, meanwhile: " + meanwhile)
                .succeedsWithin(Duration.ofSeconds(25))
                .satisfies(response -> assertThat(response.value()).isEqualTo(Value.of("on")));
        call.join().close();
    }

    @Test
    void servesOthersWhileAListenerHangs() {
        position = Position.LISTENER_RESPONSE;
        servesOthersWhileItHangs(caller);
    }

    @Test
    void servesOthersWhileANonBlockingHandlerHangs() {
        position = Position.NON_BLOCKING_HANDLER;
        handleBadly();
        servesOthersWhileItHangs(server);
    }

    /** The background poller of this worker is in it. */
    private void servesOthersWhileItHangs(Worker worker) {
        fault = Fault.HANG;
        armed = true;
        String operation = position == Position.NON_BLOCKING_HANDLER ? "text.bad.now" : "text.now";
        caller.call(Request.operation("server", operation).timeout(Duration.ofSeconds(60)), new Outcomes());
        until("it hangs", () -> happened.get() > 0);
        try {
            assertThat(caller.callAsync(Request.operation("server", "text.now").timeout(Duration.ofSeconds(60))))
                    .as("a call that needs another thread to poll for worker "
                            + worker.info().name())
                    .succeedsWithin(Duration.ofSeconds(10))
                    .satisfies(Response::close);
        } finally {
            armed = false;
            hold.countDown();
        }
    }

    @ParameterizedTest
    @EnumSource
    void costsItsOwnCallOnly(Position at) {
        position = at;
        handleBadly();
        for (Fault each : Fault.values()) {
            fault = each;
            misbehave();
        }
        nothingIsLeftToDrain();
        assertThat(server.counters().damagedRecords()).isZero();
    }

    private void misbehave() {
        hold = new CountDownLatch(1);
        slow = new CountDownLatch(1);
        happened.set(0);
        CompletableFuture<Response> inFlight =
                caller.callAsync(Request.operation("server", "text.slow").timeout(Duration.ofSeconds(60)));
        Request request = affected().timeout(SOON);
        armed = true;

        Outcomes outcomes = new Outcomes();
        Thread program = new Thread(() -> call(request, outcomes), "program");
        program.start();
        until("it misbehaves", () -> happened.get() > 0);

        othersAreServed();
        if (!hangsInTheProgram()) {
            until("the call has an outcome", () -> outcomes.count() > 0);
        }
        othersAreServed();
        armed = false;
        hold.countDown();

        slow.countDown();
        assertThat(inFlight.join().value()).as("a call that was in flight").isEqualTo(Value.of("slow"));
        until("the program goes on", () -> !program.isAlive());
        othersAreServed();
        everythingIsBack();
        assertThat(outcomes.count()).as("outcomes of the call, with " + fault).isEqualTo(1);
    }

    private void until(String what, BooleanSupplier condition) {
        Waits.until(position == null ? what : position + " with " + fault + ": " + what, condition::getAsBoolean);
    }

    /** A program's own thread that hangs in its own storage, or its own converter, hangs. */
    private boolean hangsInTheProgram() {
        return fault == Fault.HANG
                && List.of(
                                Position.CALLER_CONVERTER_STREAMS,
                                Position.CALLER_CONVERTER_PREPARE,
                                Position.CALLER_CONVERTER_UNAVAILABLE,
                                Position.CALLER_STORAGE_DEVICE,
                                Position.CALLER_STORAGE_SIZE)
                        .contains(position);
    }

    private void call(Request request, Outcomes outcomes) {
        if (position == Position.FUTURE_STAGE || position == Position.CALLER_STORAGE_RETAIN) {
            CompletableFuture<Response> call = caller.callAsync(request);
            outcomes.future = call;
            call.thenAccept(response -> {
                response.close();
                maybe(Position.FUTURE_STAGE, response);
            });
            release(request);
            return;
        }
        try {
            caller.call(request, outcomes);
        } catch (RuntimeException | StackOverflowError e) { // before anything was sent
            outcomes.notified.incrementAndGet();
        } finally {
            release(request);
        }
    }

    private void release(Request request) {
        for (Tensor tensor : request.tensors()) {
            try {
                tensor.storage().release();
            } catch (RuntimeException | StackOverflowError e) {
                assertThat(position).isEqualTo(Position.CALLER_STORAGE_RELEASE);
            }
        }
    }

    private void everythingIsBack() {
        until("no request is in flight: " + statuses(), () -> inFlight() == 0);
        until("no call is pending", () -> caller.pendingCalls() == 0);
        for (Worker worker : List.of(server, caller)) {
            until("worker " + worker.info() + " holds no lease", () -> worker.leasesHeld() == 0);
            until("worker " + worker.info() + " has nothing leased", () -> worker.leased() == 0);
        }
    }

    private void nothingIsLeftToDrain() {
        for (HandlerRegistry.Registration registration : registrations) {
            assertThat(registration.withdraw(Duration.ofSeconds(20)).stillRunning())
                    .as("requests that an update would wait for")
                    .isZero();
        }
    }

    private long inFlight() {
        return handlers.statuses().stream().mapToLong(HandlerStatus::inFlight).sum();
    }

    private List<HandlerStatus> statuses() {
        return handlers.statuses().stream()
                .filter(status -> status.inFlight() > 0)
                .toList();
    }

    @Test
    void convertsForANonBlockingHandlerOnNoPoller() {
        position = Position.CALLEE_CONVERTER_ALLOCATE_FOR_NON_BLOCKING; // and nothing is armed
        for (int i = 0; i < 20; i++) {
            Request request = tensorCall("t.now");
            assertThat(caller.callAsync(request))
                    .succeedsWithin(Duration.ofSeconds(10))
                    .satisfies(Response::close);
            release(request);
        }
        assertThat(converting)
                .as("the threads that the callee's converter received tensors on")
                .hasSizeGreaterThanOrEqualTo(20)
                .noneMatch(thread -> thread.contains("-poller-"));
        everythingIsBack();
    }

    // ---- mistakes that are easily made

    @Test
    void respondsWithATensorOfTheRequestThatWasNotRetained() {
        handle("t.unretained", false, (message, outbox) -> outbox.response().tensor("t", message.tensor("t")));
        for (int i = 0; i < 300; i++) { // more than there are leases
            Tensor sent = inSegment();
            Tensor behind = inSegment(); // is given back although the one before it can't be
            Request request = withTensor("t.unretained", sent);
            request.body().tensor("u", behind);
            try (Response response = caller.call(request)) {
                assertThat(response.tensors()).hasSize(1);
            }
            sent.storage().release();
            behind.storage().release();
        }
        everythingIsBack();
        nothingIsLeftToDrain();
    }

    private Tensor inSegment() {
        return Tensor.contiguous(
                DType.UINT8, new long[] {BYTES}, caller.buffers().allocate(BYTES));
    }

    @Test
    void respondsWithAStorageThatIsReleased() {
        MessageHandler released = (message, outbox) -> {
            Storage storage = outbox.buffers().allocate(BYTES);
            storage.release();
            outbox.respond(
                    ByteBuffer.allocate(1), List.of(Tensor.contiguous(DType.UINT8, new long[] {BYTES}, storage)));
        };
        handle("t.released", false, released);
        handle("t.released.now", true, released);
        handle("t.released.later", false, (message, outbox) -> {
            LateResponse late = outbox.later();
            Storage storage = outbox.buffers().allocate(BYTES);
            storage.release();
            late.send(ByteBuffer.allocate(1), List.of(Tensor.contiguous(DType.UINT8, new long[] {BYTES}, storage)));
        });
        for (String operation : List.of("t.released", "t.released.now", "t.released.later")) {
            CompletableFuture<Response> call = caller.callAsync(Request.operation("server", operation));
            assertThat(call)
                    .failsWithin(Duration.ofSeconds(15))
                    .withThrowableThat()
                    .withCauseInstanceOf(CallException.class)
                    .withMessageContaining("the response can't be sent")
                    .satisfies(e ->
                            assertThat(((CallException) e.getCause()).code()).isEqualTo(ErrorCode.HANDLER_FAILED));
        }
        everythingIsBack();
        nothingIsLeftToDrain();
    }

    @Test
    void keepsAnOutboxThatAHandlerUsesAfterItsEnd() {
        CompletableFuture<io.waybill.api.handler.Outbox> kept = new CompletableFuture<>();
        handle("text.keeps", false, (message, outbox) -> {
            kept.complete(outbox);
            outbox.respond(Value.of("first"));
        });
        caller.call(Request.operation("server", "text.keeps")).close();

        assertThat(catchThrowable(() -> kept.join().respond(Value.of("stale"))))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("outbox.later()");
        assertThat(caller.call(Request.operation("server", "text.keeps")).value())
                .isEqualTo(Value.of("first"));
    }

    private static Throwable catchThrowable(Runnable run) {
        try {
            run.run();
            return null;
        } catch (Throwable e) {
            return e;
        }
    }

    @Test
    void failsLateWithoutACodeOrAText() {
        handle("text.fails", false, (message, outbox) -> outbox.later().fail(null, null));
        assertThat(caller.callAsync(Request.operation("server", "text.fails")))
                .failsWithin(Duration.ofSeconds(15))
                .withThrowableThat()
                .withCauseInstanceOf(CallException.class)
                .satisfies(
                        e -> assertThat(((CallException) e.getCause()).code()).isEqualTo(ErrorCode.UNKNOWN));
        everythingIsBack();
        nothingIsLeftToDrain();
    }

    @Test
    void repeatsALateResponseThatCouldNotBeGiven() {
        handle("text.twice", false, (message, outbox) -> {
            LateResponse late = outbox.later();
            assertThat(catchThrowable(() -> late.send(null, List.of()))).isInstanceOf(NullPointerException.class);
            late.send(Value.of("then"));
        });
        assertThat(caller.call(Request.operation("server", "text.twice")).value())
                .isEqualTo(Value.of("then"));
        everythingIsBack();
        nothingIsLeftToDrain();
    }

    @Test
    void decidesByTheHandlersExceptionWhenAResponseWasGivenBefore() {
        handle("0x142", false, (message, outbox) -> {
            Storage storage = outbox.buffers().allocate(BYTES);
            outbox.later()
                    .send(ByteBuffer.allocate(1), List.of(Tensor.contiguous(DType.UINT8, new long[] {BYTES}, storage)));
            throw new IllegalStateException("after all");
        });
        Request request = Request.raw("server", MessageType.userRequest(0x42), ByteBuffer.allocate(1), List.of());
        for (int i = 0; i < 1000; i++) { // together more than there is room for, so the dropped ones were given back
            assertThat(caller.callAsync(request))
                    .as("call %d, whose handler threw behind its late response", i)
                    .failsWithin(Duration.ofSeconds(15))
                    .withThrowableThat()
                    .withMessageContaining("after all");
        }
        everythingIsBack();
    }
}
