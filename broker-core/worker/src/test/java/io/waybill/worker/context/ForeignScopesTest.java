package io.waybill.worker.context;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.Value;
import io.waybill.api.context.CallContext;
import io.waybill.api.context.ThreadContext;
import io.waybill.api.event.CallEvents;
import io.waybill.api.handler.Outbox;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.FailedAttempt;
import io.waybill.api.intercept.HandledMessage;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.api.intercept.IncomingResponse;
import io.waybill.api.intercept.InterceptedCall;
import io.waybill.api.intercept.InterceptedMessage;
import io.waybill.api.intercept.OutgoingCall;
import io.waybill.api.policy.Decision;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.Provider;
import io.waybill.intercept.InterceptorSpec;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Each extension point leaves a scope open: no thread keeps it. */
@Timeout(120)
class ForeignScopesTest {

    private static final Provider FOREIGN = new Provider("foreign", "1");
    private static final Map<String, Place> PLACES = new LinkedHashMap<>();

    @TempDir
    private Path directory;

    private final AtomicInteger left = new AtomicInteger();
    private Workers workers;
    private HandlerRegistry handlers;
    private HandlerRegistry ofCaller;
    private Worker server;
    private Worker caller;

    @BeforeEach
    void joinTwo() throws IOException {
        workers = new Workers(directory);
        handlers = workers.registry();
        workers.handle(handlers, "text.pool", (message, outbox) -> outbox.respond(Value.of(k())));
        workers.handleOnPoller(handlers, "text.poller", (message, outbox) -> outbox.respond(Value.of(k())));
        workers.handleOneByOne(handlers, "bad.single", (message, outbox) -> {
            outbox.respond(Value.of(k()));
            leave();
        });
        workers.handle(handlers, "bad.fails", (message, outbox) -> {
            leave();
            throw new IllegalStateException("planted");
        });
        workers.handle(handlers, "0x142", (message, outbox) -> outbox.respond(message.payload()));
        server = workers.join("server", handlers);
        ofCaller = workers.registry();
        caller = workers.join("caller", ofCaller);
    }

    @AfterEach
    void close() throws IOException {
        workers.close();
    }

    private static String k() {
        return CallContext.current().text("k").orElse("none");
    }

    /** Opens scopes that nothing closes. */
    private void leave() {
        CallContext.EMPTY.with("k", "left-" + left.incrementAndGet()).makeCurrent();
        CallContext.EMPTY.with("k", "left-" + left.incrementAndGet()).makeCurrent();
    }

    private static Request request(String operation) {
        return Request.operation("server", operation).timeout(Duration.ofSeconds(30));
    }

    /** Installs foreign code that leaves scopes open, and has it run. */
    @FunctionalInterface
    interface Place {
        void run(ForeignScopesTest test) throws Exception;
    }

    private static void place(String name, Place place) {
        PLACES.put(name, place);
    }

    static {
        place("handler", test -> test.caller.call(request("bad.single")).close());
        place("handler that throws", test -> test.fails());
        place("listener", test -> test.listener("text.poller"));
        place("listener of a failure", test -> test.listener("bad.fails"));
        place("stage of a future", test -> test.stage());
        place("CallInterceptor", test -> test.intercepts("text.pool"));
        place("CallInterceptor of a failure", test -> test.intercepts("bad.fails"));
        place("HandlerInterceptor", test -> test.interceptsHandlers());
        place("AccessPolicy", test -> {
            test.handlers.policies().add(FOREIGN, request -> {
                test.leave();
                return Decision.allow();
            });
            test.callTwice();
        });
        place("CallEvents", test -> {
            CallEvents listener = event -> test.leave();
            test.handlers.events().add("foreign", listener);
            test.ofCaller.events().add("foreign", listener);
            test.callTwice();
            test.fails();
        });
        place("scheduled task", test -> test.task());
        place("storage", test -> test.storage());
    }

    static Stream<String> places() {
        return PLACES.keySet().stream();
    }

    @ParameterizedTest
    @MethodSource("places")
    void leavesNothingBehind(String place) throws Exception {
        for (int round = 0; round < 5; round++) {
            PLACES.get(place).run(this);
            assertThat(k()).as("on the calling thread, after " + place).isEqualTo("none");
        }
        assertThat(left.get()).as("scopes that " + place + " left open").isPositive();
        for (int round = 0; round < 10; round++) {
            for (String operation : List.of("text.pool", "text.poller", "bad.single")) {
                try (Response response = caller.call(request(operation))) {
                    String seen = ((Value.Text) response.value()).value();
                    assertThat(seen).as(operation + " after " + place).isEqualTo("none");
                }
                CompletableFuture<String> stage = new CompletableFuture<>();
                caller.callAsync(request(operation)).whenComplete((response, failure) -> stage.complete(k()));
                assertThat(stage.get(30, TimeUnit.SECONDS))
                        .as("a stage after " + place)
                        .isEqualTo("none");
            }
            CompletableFuture<String> task = new CompletableFuture<>();
            caller.broker().schedule(Duration.ofMillis(1), () -> task.complete(k()));
            assertThat(task.get(30, TimeUnit.SECONDS))
                    .as("a task after " + place)
                    .isEqualTo("none");
        }
    }

    // ---- places

    private void callTwice() {
        caller.call(request("text.pool")).close();
        caller.call(request("text.poller")).close();
    }

    private void fails() {
        try (Response response = caller.call(request("bad.fails"))) {
            throw new AssertionError("a response: " + response);
        } catch (CallException e) {
            assertThat(e).hasMessageContaining("planted");
        }
    }

    private void listener(String operation) throws Exception {
        CountDownLatch heard = new CountDownLatch(1);
        caller.call(request(operation), new ResponseListener() {
            @Override
            public void onResponse(Response response) {
                leave();
                heard.countDown();
            }

            @Override
            public void onFailure(CallException failure) {
                leave();
                heard.countDown();
                throw new IllegalStateException("planted in a listener");
            }
        });
        caller.call(request("text.pool")).close(); // may poll
        assertThat(heard.await(30, TimeUnit.SECONDS)).isTrue();
    }

    private void stage() throws Exception {
        CompletableFuture<Response> call =
                caller.callAsync(request("text.poller")).whenComplete((response, failure) -> leave());
        while (!call.isDone()) {
            caller.call(request("text.pool")).close(); // may poll
        }
        call.get(30, TimeUnit.SECONDS).close();
        caller.call(request("text.pool")).close();
        ThreadContext.own().leave(null); // the stage may have run here, if the call had its outcome before it was added
    }

    private void intercepts(String operation) {
        CallInterceptor foreign = new CallInterceptor() {
            @Override
            public void onRequest(OutgoingCall call) {
                call.keep();
                leave();
            }

            @Override
            public void onAttemptFailed(FailedAttempt attempt) {
                leave();
            }

            @Override
            public void onResponse(IncomingResponse response) {
                leave();
            }

            @Override
            public void onFailure(InterceptedCall call, CallException failure) {
                leave();
            }
        };
        var added = caller.interceptors().calls().add(InterceptorSpec.ofAll(foreign, FOREIGN));
        if (operation.equals("bad.fails")) {
            fails();
        } else {
            callTwice();
        }
        added.withdraw(Duration.ofSeconds(10));
    }

    private void interceptsHandlers() {
        HandlerInterceptor foreign = new HandlerInterceptor() {
            @Override
            public void before(InterceptedMessage message, Outbox outbox) {
                leave();
            }

            @Override
            public void after(HandledMessage outcome) {
                leave();
            }
        };
        var added = server.interceptors().handlers().add(InterceptorSpec.ofAll(foreign, FOREIGN));
        callTwice();
        fails();
        added.withdraw(Duration.ofSeconds(10));
    }

    private void task() throws Exception {
        CountDownLatch ran = new CountDownLatch(1);
        caller.broker().schedule(Duration.ofMillis(1), () -> {
            leave();
            ran.countDown();
        });
        assertThat(ran.await(30, TimeUnit.SECONDS)).isTrue();
    }

    /** Is asked for its size and bytes on the calling thread. */
    private void storage() {
        Storage foreign = new ForeignStorage(caller.buffers().allocate(16));
        Tensor tensor = Tensor.contiguous(DType.UINT8, new long[] {16}, foreign);
        ThreadContext.own().leave(null); // what the program's own code left open, outside of a call, stays
        caller.call(Request.raw("server", MessageType.userRequest(0x42), ByteBuffer.allocate(0), List.of(tensor)))
                .close();
        assertThat(k())
                .as("after a call with a storage that leaves scopes open")
                .isEqualTo("none");
        foreign.release();
        ThreadContext.own().leave(null);
    }

    /** A storage that leaves a scope open whenever it is used. */
    private final class ForeignStorage implements Storage {
        private final Storage of;

        ForeignStorage(Storage of) {
            this.of = of;
        }

        @Override
        public Device device() {
            leave();
            return of.device();
        }

        @Override
        public long sizeBytes() {
            leave();
            return of.sizeBytes();
        }

        @Override
        public long address() {
            leave();
            return of.address();
        }

        @Override
        public ByteBuffer bytes(long offset, int length) {
            leave();
            return of.bytes(offset, length);
        }

        @Override
        public Storage retain() {
            leave();
            of.retain();
            return this;
        }

        @Override
        public void release() {
            leave();
            of.release();
        }
    }
}
