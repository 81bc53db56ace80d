package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.Provider;
import io.waybill.home.Membership;
import io.waybill.home.Peer;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Which handler a script call goes to: the function's, or the type's. */
@Timeout(60)
class FunctionCallTest {

    @TempDir
    private Path directory;

    private Workers workers;
    private HandlerRegistry handlers;
    private Worker server;
    private Worker caller;

    @BeforeEach
    void joinTwo() throws IOException {
        workers = new Workers(directory);
        handlers = workers.registry();
        server = workers.join("server", handlers);
        caller = workers.join("caller");
    }

    @AfterEach
    void leave() throws IOException {
        workers.close();
    }

    private static Request script(String name) {
        return script(new Invocation(name, List.of(), Map.of()));
    }

    private static Request script(Invocation call) {
        return Request.invocation("server", MessageType.SCRIPT_CALL, call);
    }

    private HandlerRegistry.Registration respond(String key, String text) {
        return workers.handle(handlers, key, (message, outbox) -> outbox.respond(Value.of(text)));
    }

    private String called(String name) {
        try (Response response = caller.call(script(name))) {
            return ((Value.Text) response.value()).value();
        }
    }

    private ErrorCode refusal(Request request) {
        CallException failure = catchThrowableOfType(CallException.class, () -> caller.call(request));
        assertThat(failure).isNotNull();
        return failure.code();
    }

    @Test
    void goesToTheFunctionsHandlerWhenItHasOneAndToTheTypesOtherwise() {
        respond("SCRIPT_CALL", "type");
        respond("function:math.scale", "function");

        assertThat(called("math.scale")).isEqualTo("function");
        assertThat(called("math.scal")).isEqualTo("type");
        assertThat(called("aten::add")).isEqualTo("type");
        assertThat(called("torch.ops.aten.add")).isEqualTo("type");
    }

    @Test
    void distinguishesAFunctionFromAnOperationOfTheSameName() {
        respond("function:math.scale", "function");
        respond("math.scale", "operation");

        assertThat(called("math.scale")).isEqualTo("function");
        try (Response response = caller.call(Request.operation("server", "math.scale"))) {
            assertThat(response.value()).isEqualTo(Value.of("operation"));
        }
    }

    @Test
    void carriesTheModeToTheHandler() {
        workers.handle(handlers, "function:jobs.run", (message, outbox) -> {
            String mode = message.invocation().mode().name();
            outbox.respond(Value.of(mode + " " + message.operation()));
        });
        Invocation call = new Invocation("jobs.run", List.of(), Map.of());

        assertThat(called("jobs.run")).isEqualTo("DIRECT jobs.run");
        try (Response response = caller.call(script(call.withMode(Invocation.Mode.ASYNC)))) {
            assertThat(response.value()).isEqualTo(Value.of("ASYNC jobs.run"));
        }
    }

    @Test
    void parksCallsToAFunctionThatLeftUntilItComesBack() throws Exception {
        respond("SCRIPT_CALL", "type");
        HandlerRegistry.Registration first = respond("function:math.scale", "first");
        assertThat(called("math.scale")).isEqualTo("first");
        first.withdraw(Duration.ofSeconds(10));

        CompletableFuture<Response> parked = caller.callAsync(script("math.scale"));
        assertThat(called("aten::add")).as("others go on").isEqualTo("type");
        respond("function:math.scale", "second");

        try (Response response = parked.get(20, TimeUnit.SECONDS)) {
            assertThat(response.value()).isEqualTo(Value.of("second"));
        }
    }

    @Test
    void letsTheNewerVersionServeWhileACallOfTheOlderOneRuns() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        HandlerRegistry.Registration first = workers.handle(handlers, "function:jobs.run", (message, outbox) -> {
            begun.countDown();
            try {
                goOn.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            outbox.respond(Value.of("first"));
        });
        CompletableFuture<Response> long1 = caller.callAsync(script("jobs.run"));
        assertThat(begun.await(20, TimeUnit.SECONDS)).isTrue();
        respond("function:jobs.run", "second");

        assertThat(first.withdraw(Duration.ZERO).isComplete()).isFalse();
        assertThat(called("jobs.run")).isEqualTo("second");
        goOn.countDown();
        try (Response response = long1.get(20, TimeUnit.SECONDS)) {
            assertThat(response.value()).isEqualTo(Value.of("first"));
        }
    }

    @Test
    void parksCallsToFunctionsWhileHandlersAreStillToCome() throws Exception {
        respond("SCRIPT_CALL", "type");
        handlers.expectMore();
        CompletableFuture<Response> early = caller.callAsync(script("math.scale"));
        CompletableFuture<Response> unknown = caller.callAsync(script("math.nobody"));
        assertThat(called("aten::add")).isEqualTo("type");
        respond("function:math.scale", "function");
        handlers.expectNoMore();

        try (Response response = early.get(20, TimeUnit.SECONDS);
                Response other = unknown.get(20, TimeUnit.SECONDS)) {
            assertThat(response.value()).isEqualTo(Value.of("function"));
            assertThat(other.value()).as("nobody's function is the type's").isEqualTo(Value.of("type"));
        }
    }

    @Test
    void publishesAsManyFunctionsAsItsRecordHolds() throws IOException {
        addMany("function:");
        respond("text.count", "operation");
        server.ready(Map.of());

        assertThat(served()).contains("text.count").hasSizeGreaterThan(300);
        assertThat(called("m".repeat(60) + ".f4979")).isEqualTo("m".repeat(60) + ".f4979");
    }

    @Test
    void publishesAsManyOperationsAsItsRecordHolds() throws IOException {
        addMany("");
        respond("SCRIPT_CALL", "type");
        server.ready(Map.of());

        assertThat(served()).contains("SCRIPT_CALL").hasSizeGreaterThan(300);
    }

    private void addMany(String prefix) {
        Provider provider = new Provider("many", "1.0.0");
        List<HandlerKey> keys = new ArrayList<>();
        for (int i = 0; i < 5_000; i++) {
            keys.add(HandlerKey.parse(prefix + "m".repeat(i % 60 + 1) + ".f" + i));
        }
        handlers.add(new HandlerSpec(
                keys,
                (message, outbox) -> outbox.respond(Value.of(message.operation())),
                false,
                provider,
                0,
                FunctionCallTest.class.getClassLoader(),
                handlers.newExecutor(provider, ExecutorSettings.forProcessors(2))));
    }

    private List<String> served() throws IOException {
        Membership membership = new Membership(workers.home);
        membership.refresh();
        return membership
                .members()
                .find("server")
                .flatMap(Peer::record)
                .orElseThrow()
                .serves();
    }

    @Test
    void refusesAnUnknownFunctionAndServesOnAfterNamesThatAreNone() {
        respond("function:math.scale", "function");
        assertThat(refusal(script("math.nobody"))).isEqualTo(ErrorCode.UNKNOWN_TYPE);

        byte[] bytes = new byte[300];
        java.util.Arrays.fill(bytes, (byte) 0xff);
        bytes[0] = (byte) 200;
        bytes[1] = (byte) 0x00;
        for (boolean expecting : new boolean[] {false, true}) {
            if (expecting) {
                handlers.expectMore();
            }
            for (MessageType type : List.of(MessageType.NAMED_CALL, MessageType.SCRIPT_CALL)) {
                Request request = Request.raw("server", type, ByteBuffer.wrap(bytes), List.of())
                        .timeout(Duration.ofMillis(expecting ? 50 : 20_000));
                assertThatThrownBy(() -> caller.call(request)).isInstanceOf(CallException.class);
            }
        }
        handlers.expectNoMore();
        assertThat(called("math.scale")).isEqualTo("function");
    }
}
