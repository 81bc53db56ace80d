package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.host.ForwardingClock;
import io.waybill.host.Host;
import io.waybill.host.WatchedSyncs;
import io.waybill.testing.core.Waits;
import io.waybill.worker.ResponsesOnRecord.OnRecord;
import io.waybill.worker.peer.FlowLimits;
import io.waybill.worker.peer.Overflow;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The append of a record as a line: what fails before it is taken back, and what fails behind it changes no outcome. */
@Timeout(180)
class PublishingTest {

    private static final MessageType ECHO = MessageType.userRequest(0x42);
    private static final int TENSOR_BYTES = 100_000; // through a segment
    private static final FlowLimits FEW = new FlowLimits(1000, 1 << 30, 2, Overflow.REFUSE);

    @TempDir
    private Path directory;

    private final Host real = WatchedSyncs.host(new WatchedSyncs.Watcher() {
        @Override
        public void beforeSync(Path file) {}

        @Override
        public void beforeReserve(Path file) throws IOException {
            reserving(file);
        }
    });
    private volatile boolean isFull;
    private volatile Throwable reporting; // thrown where a response is reported to listeners; null for none
    private Workers workers;

    /** A place behind the append of a response. */
    private enum Behind {
        ANNOUNCEMENT,
        REPORT
    }

    /** The ways of a response. */
    private enum Way {
        ON_THE_POLLER,
        ON_A_THREAD,
        DEFERRED,
        FAILED
    }

    @BeforeEach
    void open() throws IOException {
        workers = new Workers(directory, real.withClock(new ForwardingClock(real.clock()) {
            @Override
            public long wallNsAt(long bootNs) {
                if (bootNs == 0 && reporting != null) {
                    PublishingTest.throwUnchecked(reporting);
                }
                return super.wallNsAt(bootNs);
            }
        }));
    }

    @AfterEach
    void close() throws IOException {
        isFull = false;
        workers.close();
    }

    private void reserving(Path file) throws IOException {
        if (isFull && file.toString().contains("-caller/requests")) {
            throw new IOException("a full disk");
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(60, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void throwUnchecked(Throwable planted) {
        if (planted instanceof Error error) {
            throw error;
        }
        throw (RuntimeException) planted;
    }

    private static Throwable planted(boolean isError) {
        return isError ? new StackOverflowError("planted") : new IllegalStateException("planted");
    }

    private static Request request(Tensor... tensors) {
        return Request.raw("server", ECHO, ByteBuffer.allocate(8), List.of(tensors));
    }

    private static Request raw(int code) {
        return Request.raw("server", MessageType.userRequest(code), ByteBuffer.allocate(8), List.of());
    }

    private static Tensor bytes(Worker worker) {
        return Tensor.contiguous(
                DType.UINT8, new long[] {TENSOR_BYTES}, worker.buffers().allocate(TENSOR_BYTES));
    }

    private void respond(Outbox outbox) {
        Tensor tensor = bytes(server);
        outbox.respond(ByteBuffer.allocate(8), List.of(tensor));
    }

    private Worker server; // set before a handler is called

    private HandlerRegistry serve(Way way) throws IOException {
        HandlerRegistry handlers = workers.registry();
        switch (way) {
            case ON_THE_POLLER -> workers.handleOnPoller(handlers, "0x142", (message, outbox) -> respond(outbox));
            case ON_A_THREAD -> workers.handle(handlers, "0x142", (message, outbox) -> respond(outbox));
            case DEFERRED -> workers.handle(handlers, "0x142", this::defer);
            case FAILED ->
                workers.handle(handlers, "0x142", (message, outbox) -> {
                    throw new IllegalArgumentException("the handler's own");
                });
        }
        server = workers.join("server", handlers);
        return handlers;
    }

    private void defer(Message message, Outbox outbox) {
        var late = outbox.later();
        workers.host.threads().start("late", () -> {
            Tensor tensor = bytes(server);
            late.send(ByteBuffer.allocate(8), List.of(tensor));
        });
    }

    @ParameterizedTest(name = "{0} of a response {1}, with an error: {2}")
    @CsvSource({
        "ANNOUNCEMENT, ON_THE_POLLER, false",
        "ANNOUNCEMENT, ON_A_THREAD, false",
        "ANNOUNCEMENT, ON_A_THREAD, true",
        "ANNOUNCEMENT, DEFERRED, false",
        "ANNOUNCEMENT, FAILED, false",
        "REPORT, ON_THE_POLLER, true",
        "REPORT, ON_A_THREAD, false",
        "REPORT, DEFERRED, false",
        "REPORT, FAILED, true"
    })
    void leavesOneResponseOnRecordWhateverFailsBehindItsAppend(Behind behind, Way way, boolean isError)
            throws Exception {
        Throwable failure = planted(isError);
        HandlerRegistry handlers = serve(way);
        if (behind == Behind.ANNOUNCEMENT) {
            Workers.announceBy(server, (link, isResponse) -> throwUnchecked(failure));
        } else {
            server.events().add("test", event -> {});
            reporting = failure;
        }
        Worker caller = workers.join("caller");
        Outcomes outcomes = new Outcomes();
        long id = caller.call(request(), outcomes);
        outcomes.await();
        reporting = null;
        assertThat(outcomes.all())
                .as("the outcomes of the call")
                .isEqualTo(way == Way.FAILED ? "HANDLER_FAILED" : "response");
        assertAllIsBack(server, caller);
        assertThat(ResponsesOnRecord.to(id, server))
                .as("the responses on record")
                .extracting(OnRecord::toString)
                .containsExactly(way == Way.FAILED ? "HANDLER_FAILED (UNKNOWN_ERROR)" : "a reply");
        Waits.until(
                "the run of the handler is counted",
                () -> handlers.statuses().stream().allMatch(status -> status.done() + status.failed() == 1));
        assertThat(handlers.statuses()).singleElement().satisfies(status -> {
            assertThat(status.done()).as("done").isEqualTo(way == Way.FAILED ? 0 : 1);
            assertThat(status.failed()).as("failed").isEqualTo(way == Way.FAILED ? 1 : 0);
            assertThat(status.inFlight()).as("in flight").isZero();
        });
    }

    private static void assertAllIsBack(Worker server, Worker caller) {
        Waits.until(
                "nothing is in flight, and no lease is open",
                () -> caller.pendingCalls() == 0
                        && Workers.takenSlots(caller) == 0
                        && Workers.exchanges(server) <= 1
                        && Workers.leases(server) + Workers.leases(caller) == 0);
    }

    @ParameterizedTest
    @CsvSource({"false", "true"})
    void throwsNothingThatFailsBehindTheAppendOfARequest(boolean isError) throws Exception {
        serve(Way.ON_A_THREAD);
        Worker caller = workers.join("caller");
        Workers.announceBy(caller, (link, isResponse) -> throwUnchecked(planted(isError)));
        Outcomes outcomes = new Outcomes();
        Tensor sent = bytes(caller);
        caller.call(request(sent), outcomes);
        sent.storage().release();
        outcomes.await();
        caller.call(request()).close();
        assertThat(outcomes.all()).as("the outcomes of the call").isEqualTo("response");
        assertAllIsBack(server, caller);
    }

    @Test
    void takesBackWhatAResponseThatCanNotBeAppendedWouldHaveTaken() throws Exception {
        HandlerRegistry handlers = serve(Way.ON_A_THREAD);
        Worker caller = workers.join("caller");
        caller.call(request()).close();
        Workers.failResponses(server, new IOException("planted"));
        assertThatThrownBy(() -> caller.call(request().timeout(Duration.ofMillis(500))))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.TIMED_OUT));
        Waits.until("both requests have ended", () -> handlers.statuses().get(0).inFlight() == 0);
        assertThat(handlers.statuses()).singleElement().satisfies(status -> {
            assertThat(status.done())
                    .as("done: the one before; the response of the other one is not on record")
                    .isEqualTo(1);
            assertThat(status.failed())
                    .as("failed: its response is not on record")
                    .isEqualTo(1);
        });
        assertAllIsBack(server, caller);
    }

    /** Fills what is reserved for requests; at the first refusal the reserve becomes smaller, and there is room once more. */
    private static void fill(Worker caller) {
        AtomicInteger refused = new AtomicInteger();
        Waits.until("there is no room for another request", () -> {
            refused.set(isRefused(caller, 50_000) ? refused.get() + 1 : 0);
            return refused.get() == 3;
        });
    }

    private static boolean isRefused(Worker caller, int payloadBytes) {
        try {
            caller.call(Request.raw("server", ECHO, ByteBuffer.allocate(payloadBytes), List.of()))
                    .close();
            return false;
        } catch (CallException e) {
            assertThat(e.code()).isEqualTo(ErrorCode.JOURNAL_FULL);
            return true;
        }
    }

    @Test
    void keepsNothingOfARequestThatWasNotAppended() throws Exception {
        serve(Way.ON_A_THREAD);
        Worker caller = workers.join("caller");
        caller.call(request()).close();
        isFull = true;
        fill(caller);
        Outcomes outcomes = new Outcomes();
        Tensor sent = bytes(caller);
        assertThatThrownBy(() -> caller.call(request(sent).timeout(Duration.ofMillis(100)), outcomes))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.JOURNAL_FULL));
        sent.storage().release();
        assertThat(caller.pendingCalls()).as("calls in flight").isZero();
        isFull = false;
        Waits.until("there is room again", () -> !isRefused(caller, 8));
        assertThat(outcomes.all()).as("outcomes beside the exception").isEmpty();
        assertAllIsBack(server, caller);
    }

    /** The thread that closes the worker fails the call, and then a storage of its request throws. */
    @Test
    void throwsNothingWhenTheCallOfARequestThatWasNotAppendedHasItsOutcome() throws Exception {
        serve(Way.ON_A_THREAD);
        Worker caller = workers.join("caller");
        caller.call(request()).close();
        Outcomes outcomes = new Outcomes();
        Tensor sent = bytes(caller);
        Tensor throwing = Tensor.contiguous(DType.UINT8, new long[] {8}, new ThrowingStorage(caller));
        long id = caller.call(request(sent, throwing), outcomes);
        sent.storage().release();
        assertThat(MessageId.worker(id)).isEqualTo(caller.info().id());
        assertThat(outcomes.all()).as("the outcomes of the call").isEqualTo("CLOSED");
        caller.call(request()).close();
        assertAllIsBack(server, caller);
    }

    /** Throws when its bytes are written to the record, after the calls of the worker were ended. */
    private record ThrowingStorage(Worker caller) implements Storage {
        @Override
        public Device device() {
            return Device.CPU;
        }

        @Override
        public long sizeBytes() {
            return 8;
        }

        @Override
        public long address() {
            Workers.failCalls(caller);
            throw new IllegalStateException("planted");
        }

        @Override
        public ByteBuffer bytes(long offset, int length) {
            return ByteBuffer.allocate(length);
        }

        @Override
        public Storage retain() {
            return this;
        }

        @Override
        public void release() {}
    }

    /** The thread that polls has given the call back when it finds that no thread converts the response, and loses the permit in the listener. */
    @Test
    void leavesACallThatItHasGivenBackAlone() throws Exception {
        MappedToy toy = new MappedToy();
        HandlerRegistry handlers = workers.registry();
        workers.handle(
                handlers,
                "0x142",
                (message, outbox) -> outbox.respond(
                        ByteBuffer.allocate(1), List.of(toy.tensor(Device.parse("toy:0"), TENSOR_BYTES, 9))));
        CountDownLatch mayRespond = new CountDownLatch(1);
        workers.handle(handlers, "0x143", (message, outbox) -> outbox.respond(message.payload()));
        workers.handle(handlers, "0x144", (message, outbox) -> {
            await(mayRespond);
            outbox.respond(message.payload());
        });
        WorkerSettings settings =
                Workers.SETTINGS.toBuilder().devices(Workers.TOYS).limits(FEW).build();
        server = workers.join("server", handlers, settings);
        server.devices().register("toy", toy);
        Worker caller = workers.join("caller", workers.registry(), settings, (name, body) -> {
            if (name.contains("converter-handler")) {
                throw new OutOfMemoryError("unable to create native thread");
            }
            return workers.host.threads().start(name, body);
        });
        caller.devices().register("toy", toy);
        CountDownLatch mayReturn = new CountDownLatch(1);
        Outcomes refused = new Outcomes();
        AtomicReference<Thread> revokedFrom = new AtomicReference<>();
        refused.onFirst(() -> {
            revokedFrom.set(Thread.currentThread());
            await(mayReturn);
        });
        caller.call(request(), refused); // takes the first of two slots
        refused.await();
        CompletableFuture<Response> second = caller.callAsync(raw(0x43)); // takes the other one
        Waits.until("another thread polls", second::isDone);
        second.get(1, TimeUnit.SECONDS).close();
        CompletableFuture<Response> third = caller.callAsync(raw(0x44)); // takes the first one again
        mayReturn.countDown();
        Waits.until(
                "the thread that has lost the permit is behind what it does then",
                () -> Stream.of(revokedFrom.get().getStackTrace())
                        .noneMatch(frame -> frame.getClassName().endsWith(".ResponseReceiver")));
        caller.call(raw(0x43)).close();
        mayRespond.countDown();
        third.get(60, TimeUnit.SECONDS).close();
        assertThat(refused.all())
                .as("the outcomes of the call whose response no thread converts")
                .isEqualTo("BACK_PRESSURE");
        assertAllIsBack(server, caller);
    }

    /** Counts the outcomes of a call. */
    private static final class Outcomes implements ResponseListener {
        private final StringBuffer all = new StringBuffer();
        private final CountDownLatch first = new CountDownLatch(1);
        private volatile Runnable onFirst = () -> {};

        void onFirst(Runnable action) {
            onFirst = action;
        }

        @Override
        public void onResponse(Response response) {
            ended("response");
        }

        @Override
        public void onFailure(CallException failure) {
            ended(failure.code().name());
        }

        private void ended(String how) {
            all.append(all.length() == 0 ? "" : ", ").append(how);
            first.countDown();
            onFirst.run();
        }

        void await() {
            PublishingTest.await(first);
        }

        String all() {
            return all.toString();
        }
    }
}
