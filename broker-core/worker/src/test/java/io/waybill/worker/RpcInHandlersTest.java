package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorKind;
import io.waybill.api.Invocation;
import io.waybill.api.Message;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Rpc;
import io.waybill.api.Value;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.Outbox;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Handlers that call, and leave and pass on references, on behalf of their requests. */
@Timeout(180)
class RpcInHandlersTest {

    private static final Duration LONG_ENOUGH_TO_BEGIN = Duration.ofSeconds(2);
    private static final Duration SOON = Duration.ofSeconds(20);

    @TempDir
    private Path directory;

    private Workers workers;
    private HandlerRegistry ofA;
    private Worker a;
    private Worker b;
    private final CountDownLatch mayEnd = new CountDownLatch(1);
    private final AtomicReference<Rpc> leaked = new AtomicReference<>();
    private final AtomicReference<RRef> kept = new AtomicReference<>();
    private final CompletableFuture<CallException> failed = new CompletableFuture<>();

    @BeforeEach
    void joinTwo() throws IOException {
        workers = new Workers(directory);
        ofA = handlers("b");
        a = workers.join("a", ofA);
        b = workers.join("b", handlers("a"));
    }

    private HandlerRegistry handlers(String other) {
        HandlerRegistry handlers = workers.registry();
        workers.handle(handlers, "SCRIPT_CALL", (message, outbox) -> respond(message, outbox, other));
        return handlers;
    }

    private void respond(Message message, Outbox outbox, String other) throws RejectedMessageException {
        Rpc rpc = outbox.rpc();
        List<Value> arguments = message.invocation().positional();
        switch (message.invocation().name()) {
            case "test::origin" ->
                outbox.respond(Value.tuple(Value.of(message.parentId()), Value.of(message.remainingNs())));
            case "test::askOrigin" -> {
                try (Response direct = rpc.rpcSync(other, call("test::origin"), Duration.ZERO);
                        RRef left = rpc.remote(other, call("test::origin"), Duration.ZERO);
                        Response fetched = left.toHere(Duration.ZERO)) {
                    outbox.respond(Value.tuple(Value.of(message.id()), direct.value(), fetched.value()));
                }
            }
            case "test::down" -> down(rpc, other, arguments, outbox);
            case "test::left" -> left(rpc, other, number(arguments.get(0)), outbox);
            case "test::wait" -> await();
            case "test::fetch" -> fetch(((Value.OfRRef) arguments.get(0)).value());
            case "test::leak" -> {
                leaked.set(rpc);
                kept.set(rpc.remote(other, call("test::down", Value.of(0), Value.of("kept"))));
                outbox.respond(Value.NONE);
            }
            case "test::shutdown" -> rpc.shutdown(SOON);
            default -> throw new IllegalArgumentException("no function");
        }
    }

    /** Hands the second argument down so many levels, and what comes back up again. */
    private static void down(Rpc rpc, String other, List<Value> arguments, Outbox outbox) {
        long depth = number(arguments.get(0));
        if (depth == 0) {
            outbox.respond(arguments.get(1));
            return;
        }
        try (Response below = rpc.rpcSync(other, call("test::down", Value.of(depth - 1), arguments.get(1)))) {
            outbox.respond(below.value());
        }
    }

    /** Responds with a reference to a reference to ... a number, each level of which was left with the other worker. */
    private static void left(Rpc rpc, String other, long depth, Outbox outbox) {
        if (depth == 0) {
            outbox.respond(Value.of("bottom"));
            return;
        }
        try (RRef below = rpc.remote(other, call("test::left", Value.of(depth - 1)))) {
            below.toHere().close();
            outbox.respond(Value.of(below));
        }
    }

    private void fetch(RRef reference) {
        try (Response fetched = reference.toHere(Duration.ZERO)) {
            failed.completeExceptionally(new AssertionError("fetched " + fetched.value()));
        } catch (CallException e) {
            failed.complete(e);
        }
    }

    private void await() {
        try {
            mayEnd.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static long number(Value value) {
        return ((Value.Int) value).value();
    }

    private static Invocation call(String name, Value... arguments) {
        return new Invocation(name, List.of(arguments), Map.of());
    }

    @AfterEach
    void leave() throws IOException {
        mayEnd.countDown();
        workers.close();
    }

    private void assertAllGone() {
        for (Worker worker : List.of(a, b)) {
            Waits.until(
                    worker.info().name() + " has no references left: "
                            + worker.rpc().debugInfo(),
                    () -> worker.rpc().debugInfo().values().stream().allMatch("0"::equals));
        }
    }

    @Test
    void carryTheRequestsIdAndDeadline() {
        try (Response response = a.rpc().rpcSync("b", call("test::askOrigin"), SOON)) {
            List<Value> notified = ((Value.Tuple) response.value()).values();
            for (Value each : notified.subList(1, 3)) {
                List<Value> origin = ((Value.Tuple) each).values();
                assertThat(origin.get(0)).isEqualTo(notified.get(0));
                assertThat(number(origin.get(1))).isBetween(1L, SOON.toNanos());
            }
        }
        assertAllGone();
    }

    @Test
    void handReferencesDownAndUpHoweverDeep() {
        try (RRef own = a.rpc().rref(Value.of("far"));
                Response response = a.rpc().rpcSync("b", call("test::down", Value.of(60), Value.of(own)));
                Response fetched = ((Value.OfRRef) response.value()).value().toHere(SOON)) {
            assertThat(fetched.value()).isEqualTo(Value.of("far"));
        }
        assertAllGone();
    }

    @Test
    void leaveReferencesToReferencesHoweverDeep() {
        try (RRef top = a.rpc().remote("b", call("test::left", Value.of(30)))) {
            assertThat(bottom(top, 30)).isEqualTo(Value.of("bottom"));
        }
        assertAllGone();
    }

    private static Value bottom(RRef reference, int depth) {
        try (Response fetched = reference.toHere(SOON)) {
            return depth == 0 ? fetched.value() : bottom(((Value.OfRRef) fetched.value()).value(), depth - 1);
        }
    }

    @Test
    void doNotFetchBeyondTheirDeadline() throws Exception {
        fetchBeyondTheDeadline("a");
    }

    @Test
    void doNotWaitForTheirOwnValueBeyondTheirDeadline() throws Exception {
        fetchBeyondTheDeadline("b");
    }

    /** A handler of b fetches a value that never comes. */
    private void fetchBeyondTheDeadline(String owner) throws Exception {
        try (RRef never = a.rpc().remote(owner, call("test::wait"))) {
            Invocation fetch = call("test::fetch", Value.of(never));
            assertThatExceptionOfType(CallException.class)
                    .isThrownBy(() -> a.rpc().rpcSync("b", fetch, LONG_ENOUGH_TO_BEGIN));
            assertThat(failed.get(30, TimeUnit.SECONDS).kind()).isEqualTo(ErrorKind.TIMEOUT);
        }
        mayEnd.countDown();
        assertAllGone();
    }

    @Test
    void leaveHandlesThatOutliveThem() {
        a.rpc().rpcSync("b", call("test::leak"), SOON).close();
        try (Response fetched = kept.get().toHere(SOON)) {
            assertThat(fetched.value()).isEqualTo(Value.of("kept"));
        }
        kept.get().close();
        Waits.until("its handler has returned", () -> isEnded(leaked.get())); // the response may have been faster
        assertAllGone();
    }

    private static boolean isEnded(Rpc ofHandler) {
        try {
            ofHandler.rpcSync("a", call("test::origin")).close();
            return false;
        } catch (IllegalStateException e) {
            assertThat(e).hasMessageContaining("its handler has returned");
            return true;
        }
    }

    @Test
    void doNotEndTheReferencesOfTheirWorker() {
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> a.rpc().rpcSync("b", call("test::shutdown")))
                .withMessageContaining("a handler can't end the references of its worker");
    }

    @Test
    void doNotWaitOnThePoller() {
        workers.handleOnPoller(ofA, "0x142", (message, outbox) -> {
            LateResponse late = outbox.later();
            assertThatThrownBy(() -> outbox.rpc().rpcSync("b", call("test::origin")))
                    .isInstanceOf(IllegalStateException.class);
            outbox.rpc()
                    .rpcAsync("b", call("test::down", Value.of(0), Value.of("later")))
                    .whenComplete((response, failure) -> late.send(response.value()));
        });
        try (Response response =
                b.call(Request.raw("a", MessageType.userRequest(0x42), ByteBuffer.allocate(0), List.of()))) {
            assertThat(response.value()).isEqualTo(Value.of("later"));
        }
    }
}
