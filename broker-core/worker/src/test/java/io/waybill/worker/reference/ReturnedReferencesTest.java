package io.waybill.worker.reference;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.Value;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.Outbox;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** References that travel in responses between real workers of one process. */
@Timeout(180)
class ReturnedReferencesTest {

    private static final Duration SOON = Duration.ofSeconds(20);

    @TempDir
    private Path directory;

    private Workers workers;
    private final Map<String, Worker> joined = new ConcurrentHashMap<>();
    private final CountDownLatch mayRespond = new CountDownLatch(1);
    private final AtomicReference<LateResponse> promised = new AtomicReference<>();
    private final Map<String, RRef> kept = new ConcurrentHashMap<>();
    private Worker a;

    @BeforeEach
    void joinThree() throws IOException {
        workers = new Workers(directory);
        a = join("a");
        join("b");
        join("c");
    }

    private Worker join(String name) throws IOException {
        HandlerRegistry handlers = workers.registry();
        workers.handle(
                handlers, "SCRIPT_CALL", (message, outbox) -> respond(joined.get(name), message.invocation(), outbox));
        Worker worker = workers.join(name, handlers);
        joined.put(name, worker);
        return worker;
    }

    private void respond(Worker self, Invocation call, Outbox outbox) {
        List<Value> arguments = call.positional();
        switch (call.name()) {
            case "test::same" -> outbox.respond(arguments.size() == 1 ? arguments.get(0) : new Value.Items(arguments));
            case "test::own" -> {
                try (RRef own = self.rpc().rref(arguments.get(0))) {
                    outbox.respond(Value.of(own));
                }
            }
            case "test::left" -> {
                Invocation same = call("test::same", arguments.get(1));
                try (RRef left = self.rpc().remote(((Value.Text) arguments.get(0)).value(), same)) {
                    outbox.response().value("left", Value.of(left)).value("again", Value.of(left));
                }
            }
            case "test::slow" -> {
                await();
                outbox.respond(arguments.get(0));
            }
            case "test::kept" -> outbox.respond(Value.of(kept.get(self.info().name())));
            case "test::promise" -> promised.set(outbox.later());
            case "test::many" -> outbox.respond(new Value.Items(Collections.nCopies(1025, arguments.get(0))));
            default -> throw new IllegalArgumentException("no function " + call.name());
        }
    }

    private void await() {
        try {
            mayRespond.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @AfterEach
    void leave() throws IOException {
        mayRespond.countDown();
        workers.close();
    }

    private static Invocation call(String name, Value... arguments) {
        return new Invocation(name, List.of(arguments), Map.of());
    }

    private static RRef reference(Value value) {
        return ((Value.OfRRef) value).value();
    }

    private static void assertHolds(RRef reference, Value expected) {
        try (Response fetched = reference.toHere(SOON)) {
            assertThat(fetched.value()).isEqualTo(expected);
        }
    }

    private void assertAllGone() {
        joined.forEach((name, worker) -> Waits.until(
                name + " has no references left: " + worker.rpc().debugInfo(),
                () -> worker.rpc().debugInfo().values().stream().allMatch("0"::equals)));
    }

    @Test
    void bringsAValueOfTheAnswerersOwn() {
        Response response = a.rpc().rpcSync("b", call("test::own", Value.of(41)));
        RRef reference = reference(response.value());
        assertThat(reference.owner()).isEqualTo(joined.get("b").info().id());
        assertHolds(reference, Value.of(41));
        assertThat(joined.get("b").rpc().debugInfo())
                .containsEntry("num_owner_rrefs", "1")
                .containsEntry("num_forks", "1");

        response.close();

        assertThatThrownBy(() -> reference.toHere(SOON)).hasMessageContaining("has been deleted");
        assertAllGone();
    }

    @Test
    void bringsAReferenceBackToItsOwner() {
        try (RRef own = a.rpc().rref(Value.of("mine"));
                Response response = a.rpc().rpcSync("b", call("test::same", Value.of(own)))) {
            RRef back = reference(response.value());
            assertThat(back.isOwner()).isTrue();
            assertHolds(back, Value.of("mine"));
        }
        assertAllGone();
    }

    @Test
    void bringsReferencesToWhatAThirdWorkerOwns() {
        try (Response response = a.rpc().rpcSync("b", call("test::left", Value.of("c"), Value.of(5)))) {
            RRef left = reference(response.value("left"));
            assertThat(left.owner()).isEqualTo(joined.get("c").info().id());
            assertHolds(left, Value.of(5));
            assertHolds(reference(response.value("again")), Value.of(5));
            Waits.until("c knows of a", left::confirmedByOwner);
        }
        assertAllGone();
    }

    @Test
    void bringsReferencesToTheCallerItself() {
        try (Response response = a.rpc().rpcSync("a", call("test::own", Value.of(7)))) {
            assertThat(reference(response.value()).isOwner()).isTrue();
            assertHolds(reference(response.value()), Value.of(7));
        }
        assertAllGone();
    }

    @Test
    void bringsReferencesInsideOfOtherValues() {
        try (RRef own = a.rpc().rref(Value.of(1));
                RRef others = a.rpc().remote("c", call("test::same", Value.of(2)));
                Response response =
                        a.rpc().rpcSync("b", call("test::same", Value.of(own), Value.of("x"), Value.of(others)))) {
            List<Value> items = ((Value.Items) response.value()).values();
            assertHolds(reference(items.get(0)), Value.of(1));
            assertHolds(reference(items.get(2)), Value.of(2));
        }
        assertAllGone();
    }

    @Test
    void keepsAReferenceForEachHolderOfAHandle() {
        RRef kept;
        try (Response response = a.rpc().rpcSync("b", call("test::own", Value.of(41)))) {
            kept = reference(response.value()).retain();
        }
        assertHolds(kept, Value.of(41));
        kept.close();
        assertAllGone();
    }

    @Test
    void endsTheReferencesOfAListenerWithItsCall() throws Exception {
        CompletableFuture<List<RRef>> notified = new CompletableFuture<>();
        Request request =
                Request.invocation("b", MessageType.SCRIPT_CALL, call("test::left", Value.of("c"), Value.of(5)));
        a.call(request, new ResponseListener() {
            @Override
            public void onResponse(Response response) {
                RRef left = reference(response.value("left"));
                notified.complete(List.of(left, left.retain()));
            }

            @Override
            public void onFailure(CallException failure) {
                notified.completeExceptionally(failure);
            }
        });
        List<RRef> references = notified.get(20, TimeUnit.SECONDS);
        assertHolds(references.get(1), Value.of(5));
        references.get(1).close();
        assertThatThrownBy(() -> references.get(0).toHere(SOON)).hasMessageContaining("has been deleted");
        assertAllGone();
    }

    @Test
    void comeWithADeferredResponse() throws Exception {
        try (RRef own = a.rpc().rref(Value.of("mine"))) {
            CompletableFuture<Response> asked = a.rpc().rpcAsync("b", call("test::promise", Value.of(own)));
            Waits.until("b has promised a response", () -> promised.get() != null);
            try (RRef at = joined.get("b").rpc().rref(Value.of("yours"))) {
                promised.get().send(Value.of(at));
            }
            try (Response response = asked.get(20, TimeUnit.SECONDS)) {
                assertHolds(reference(response.value()), Value.of("yours"));
            }
        }
        assertAllGone();
    }

    @Test
    void leakNothingWhenTheResponseIsLate() {
        RRef others = a.rpc().remote("c", call("test::same", Value.of(2)));
        RRef own = a.rpc().rref(Value.of(1));
        Invocation slow = call("test::slow", Value.tuple(Value.of(others), Value.of(own)));
        assertThatThrownBy(() -> a.rpc().rpcSync("b", slow, Duration.ofMillis(50)))
                .isInstanceOf(CallException.class);

        mayRespond.countDown();

        Waits.until("the response came", () -> a.counters().lateResponses() == 1);
        others.close();
        own.close();
        assertAllGone();
    }

    @Test
    void leakNothingWhenTheResponseIsNotWantedAnyMore() {
        CompletableFuture<Response> asked;
        try (RRef others = a.rpc().remote("c", call("test::same", Value.of(2)))) {
            asked = a.rpc().rpcAsync("b", call("test::slow", Value.of(others)));
            Waits.until("b has it", () -> joined.get("b").counters().requestsBegun() > 0);
        }
        asked.cancel(false);
        mayRespond.countDown();
        assertAllGone();
    }

    @Test
    void leakNothingWhenTheResponseCannotBeSent() {
        try (RRef own = a.rpc().rref(Value.of(1))) {
            assertThatExceptionOfType(CallException.class)
                    .isThrownBy(() -> a.rpc().rpcSync("b", call("test::many", Value.of(own))))
                    .withMessageContaining("a message has at most 1024 references: 1025")
                    .matches(e -> e.code() == ErrorCode.REFUSED);
        }
        assertAllGone();
    }

    @Test
    void leakNothingWhenTheCallerCannotHaveReferences() throws IOException {
        WorkerSettings callsOnly = Workers.SETTINGS.toBuilder()
                .role(WorkerSettings.Role.CALLS_ONLY)
                .build();
        Worker caller = workers.join("caller", workers.registry(), callsOnly);
        for (Invocation each :
                List.of(call("test::own", Value.of(1)), call("test::left", Value.of("c"), Value.of(2)))) {
            assertThatExceptionOfType(CallException.class)
                    .isThrownBy(() -> caller.call(Request.invocation("b", MessageType.SCRIPT_CALL, each)))
                    .withMessageContaining("worker caller only calls")
                    .matches(e -> e.code() == ErrorCode.REFUSED);
        }
        assertAllGone();
    }

    @Test
    void travelFromWorkerToWorkerWhileThoseBeforeGiveThemUp() {
        List<String> names = List.of("a", "b", "c");
        kept.put("a", a.rpc().rref(Value.of("far")));
        for (int hop = 1; hop <= 8; hop++) {
            String from = names.get((hop - 1) % 3);
            String to = names.get(hop % 3);
            try (Response response = joined.get(to).rpc().rpcSync(from, call("test::kept"))) {
                kept.put(to, reference(response.value()).retain());
            }
            kept.remove(from).close();
        }
        assertHolds(kept.get("c"), Value.of("far"));
        kept.remove("c").close();
        assertAllGone();
    }
}
