package io.waybill.worker.context;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.Caller;
import io.waybill.api.Invocation;
import io.waybill.api.Message;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.Value;
import io.waybill.api.context.CallContext;
import io.waybill.api.context.ContextScope;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.Outbox;
import io.waybill.api.policy.Decision;
import io.waybill.dispatch.AccessPolicies;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.Provider;
import io.waybill.exchange.Wrapping;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every way in which a call begins, a handler runs, and an outcome is delivered: each has the context of its call. */
@Timeout(300)
class ContextFlowTest {

    private static final Duration LONG = Duration.ofSeconds(30);

    @TempDir
    private Path directory;

    private final CountDownLatch created = new CountDownLatch(1);
    private Workers workers;
    private HandlerRegistry handlers;
    private Worker server;
    private Worker caller;

    @BeforeEach
    void joinTwo() throws IOException {
        workers = new Workers(directory);
        handlers = workers.registry();
        workers.handle(handlers, "text.pool", (message, outbox) -> outbox.respond(seen()));
        workers.handleOnPoller(handlers, "text.poller", (message, outbox) -> outbox.respond(seen()));
        workers.handleOneByOne(handlers, "text.single", (message, outbox) -> outbox.respond(seen()));
        workers.handle(handlers, "text.late", (message, outbox) -> {
            LateResponse late = outbox.later();
            Value value = seen();
            new Thread(() -> late.send(value)).start();
        });
        workers.handle(handlers, "text.fails", (message, outbox) -> {
            throw new IllegalStateException(k());
        });
        workers.handle(handlers, "text.down", ContextFlowTest::down);
        workers.handle(handlers, "0x142", (message, outbox) -> outbox.respond(ByteBuffer.wrap(k().getBytes())));
        workers.handle(handlers, "SCRIPT_CALL", this::script);
        server = workers.join("server", handlers);
        HandlerRegistry ofCaller = workers.registry();
        workers.handle(ofCaller, "text.down", ContextFlowTest::down);
        workers.handle(ofCaller, "text.pool", (message, outbox) -> outbox.respond(seen()));
        workers.handle(ofCaller, "SCRIPT_CALL", this::script);
        caller = workers.join("caller", ofCaller);
    }

    @AfterEach
    void leave() throws IOException {
        created.countDown();
        workers.close();
    }

    private void script(Message message, Outbox outbox) throws RejectedMessageException {
        if (message.invocation().name().equals("test::slow")) {
            await(created);
        }
        outbox.respond(seen());
    }

    private static String k() {
        return CallContext.current().text("k").orElse("none");
    }

    private static Value seen() {
        return Value.of(k());
    }

    private static CallContext context(String k) {
        return k.equals("none") ? CallContext.EMPTY : CallContext.EMPTY.with("k", k);
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await(60, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Calls the other worker as deep as its argument says; adds a level to the context in the middle. */
    private static void down(Message message, Outbox outbox) throws RejectedMessageException {
        long left = message.int64("left");
        if (left == 0) {
            outbox.respond(seen());
            return;
        }
        String next = message.from() == outbox.rpc().info().id() ? "server" : String.valueOf(message.from());
        Request request = Request.operation(next, "text.down").timeout(LONG);
        request.body().int64("left", left - 1);
        try (Response below = outbox.caller().call(request)) {
            outbox.respond(below.value());
        }
    }

    private static Request request(String operation) {
        return Request.operation("server", operation).timeout(LONG);
    }

    private static Invocation script(String name, Value... arguments) {
        return new Invocation(name, List.of(arguments), Map.of());
    }

    private static String text(Response response) {
        try (response) {
            return ((Value.Text) response.value()).value();
        }
    }

    /** One way of a call: returns what its handler saw, and what a listener or a stage did, if there was one. */
    @FunctionalInterface
    interface Way {
        List<String> call(ContextFlowTest test) throws Exception;
    }

    private static final Map<String, Way> WAYS = new LinkedHashMap<>();

    private static void way(String name, Way way) {
        WAYS.put(name, way);
    }

    static {
        way("call", test -> List.of(text(test.caller.call(request("text.pool")))));
        way("future", test -> test.async(test.caller, "text.pool"));
        way("listener", test -> test.listened(test.caller, "text.pool"));
        way("listener of a failure", test -> test.listened(test.caller, "text.fails"));
        way("listener of a timeout", test -> test.timedOut());
        way("broker's call", test -> List.of(text(test.caller.broker().caller().call(request("text.pool")))));
        way("broker's future", test -> test.async(test.caller.broker().caller(), "text.pool"));
        way("broker's listener", test -> test.listened(test.caller.broker().caller(), "text.pool"));
        way("several responses at once", test -> test.gathered());
        way("rpcSync", test -> List.of(text(test.caller.rpc().rpcSync("server", script("test::f")))));
        way(
                "rpcAsync",
                test -> List.of(text(
                        test.caller.rpc().rpcAsync("server", script("test::f")).get(30, TimeUnit.SECONDS))));
        way("remote", test -> List.of(test.created("server")));
        way("remote on itself", test -> List.of(test.created("caller")));
        way("toHereAsync of a value that is not there yet", test -> test.awaitedHere());
        way("raw type", test -> {
            try (Response response = test.caller.call(
                    Request.raw("server", MessageType.userRequest(0x42), ByteBuffer.allocate(0), List.of()))) {
                byte[] bytes = new byte[response.payload().remaining()];
                response.payload().get(bytes);
                return List.of(new String(bytes));
            }
        });
        way("to itself", test -> List.of(text(test.caller.call(Request.operation("caller", "text.pool")))));
        way("polling thread", test -> test.async(test.caller, "text.poller"));
        way("deferred response", test -> test.async(test.caller, "text.late"));
        way("one by one", test -> test.oneByOne());
        way("parked", test -> test.parked());
        way("waits for a policy", test -> test.undecided());
        way("waits for a reference", test -> test.awaitsReference());
        way("nested", test -> List.of(test.down(1)));
        way("nested in twenty", test -> List.of(test.down(20)));
        way("dispatched, waiting", test -> test.dispatched("blocking", "text.pool"));
        way("dispatched, waiting, to the same thread", test -> test.dispatched("blocking", "text.poller"));
        way("dispatched, later", test -> test.dispatched("async", "text.pool"));
        way("dispatched, later, deferred", test -> test.dispatched("async", "text.late"));
        way("dispatched, by the polling thread", test -> test.dispatched("poller", "text.poller"));
    }

    static Stream<String> ways() {
        return WAYS.keySet().stream();
    }

    @ParameterizedTest
    @MethodSource("ways")
    void everyWayHasTheContextOfItsCall(String way) throws Exception {
        for (String k : List.of("one", "none", "two")) {
            ContextScope scope = context(k).makeCurrent();
            try {
                assertThat(WAYS.get(way).call(this))
                        .as("what was seen by " + way)
                        .isNotEmpty()
                        .allMatch(k::equals);
                assertThat(k()).as("on the calling thread afterwards").isEqualTo(k);
            } finally {
                scope.close();
            }
            assertThat(k()).isEqualTo("none");
            if (way.contains("not there yet")
                    || way.contains("reference")
                    || way.contains("policy")
                    || way.contains("parked")) {
                return; // once is what they can
            }
        }
    }

    // ---- ways

    private List<String> async(Caller by, String operation) throws Exception {
        CompletableFuture<String> stage = new CompletableFuture<>();
        CompletableFuture<Response> call = by.callAsync(request(operation));
        CompletableFuture<Response> after = call.whenComplete((response, failure) -> stage.complete(k()));
        String handler = text(after.get(30, TimeUnit.SECONDS));
        return List.of(handler, stage.get(30, TimeUnit.SECONDS));
    }

    private List<String> listened(Caller by, String operation) throws Exception {
        CompletableFuture<List<String>> heard = new CompletableFuture<>();
        CallContext before = CallContext.current();
        by.call(request(operation), new ResponseListener() {
            @Override
            public void onResponse(Response response) {
                heard.complete(List.of(text(response), k()));
            }

            @Override
            public void onFailure(CallException failure) {
                String message = failure.getMessage();
                heard.complete(List.of(message.substring(message.lastIndexOf(' ') + 1), k()));
            }
        });
        CallContext.EMPTY.run(() -> caller.call(request("text.poller")).close()); // polls, with another context
        assertThat(CallContext.current()).isEqualTo(before);
        return heard.get(30, TimeUnit.SECONDS);
    }

    private List<String> timedOut() throws Exception {
        CompletableFuture<String> heard = new CompletableFuture<>();
        workers.handle(handlers, "text.never" + heard.hashCode(), (message, outbox) -> outbox.later());
        Request never = request("text.never" + heard.hashCode()).timeout(Duration.ofMillis(20));
        caller.callAsync(never).whenComplete((response, failure) -> heard.complete(failure == null ? "?" : k()));
        return List.of(heard.get(30, TimeUnit.SECONDS));
    }

    private List<String> gathered() throws Exception {
        List<CompletableFuture<Response>> calls = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            calls.add(caller.callAsync(request("text.pool")));
        }
        List<String> found = new ArrayList<>();
        Response.all(calls).get(30, TimeUnit.SECONDS).forEach(response -> found.add(text(response)));
        return found;
    }

    private String created(String owner) {
        try (RRef made = caller.rpc().remote(owner, script("test::f"))) {
            return text(made.toHere(LONG));
        }
    }

    /** The stages of a read run on the thread that creates the value. */
    private List<String> awaitedHere() throws Exception {
        CompletableFuture<String> stage = new CompletableFuture<>();
        RRef made = context("creator").supply(() -> caller.rpc().remote("caller", script("test::slow")));
        CompletableFuture<Response> read =
                made.toHereAsync(LONG).whenComplete((response, failure) -> stage.complete(k()));
        created.countDown();
        assertThat(text(read.get(30, TimeUnit.SECONDS))).isEqualTo("creator");
        made.close();
        return List.of(stage.get(30, TimeUnit.SECONDS));
    }

    private List<String> oneByOne() throws Exception {
        List<CompletableFuture<Response>> calls = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            String other = "other" + i;
            calls.add(caller.callAsync(request("text.single")));
            context(other).run(() -> calls.add(caller.callAsync(request("text.single"))));
        }
        List<String> found = new ArrayList<>();
        for (int i = 0; i < calls.size(); i++) {
            String seen = text(calls.get(i).get(30, TimeUnit.SECONDS));
            if (i % 2 == 1) {
                assertThat(seen).isEqualTo("other" + i / 2);
            } else {
                found.add(seen);
            }
        }
        return found;
    }

    private List<String> parked() throws Exception {
        HandlerRegistry.Registration first =
                workers.handle(handlers, "text.parked", (message, outbox) -> outbox.respond(seen()));
        first.withdraw(Duration.ofSeconds(10));
        CompletableFuture<Response> call = caller.callAsync(request("text.parked"));
        Waits.until("the request is parked", () -> handlers.parkedRequests() > 0);
        workers.handle(handlers, "text.parked", (message, outbox) -> outbox.respond(seen()));
        return List.of(text(call.get(30, TimeUnit.SECONDS)));
    }

    private List<String> undecided() throws Exception {
        Provider guard = new Provider("guard", "1");
        AccessPolicies.Registration away = handlers.policies().add(guard, request -> Decision.allow());
        away.withdraw();
        CompletableFuture<Response> call = caller.callAsync(request("text.pool"));
        Waits.until("it waits", () -> handlers.parkedRequests() == 1);
        List<String> policy = new ArrayList<>();
        handlers.policies().add(guard, request -> {
            policy.add(k());
            CallContext.EMPTY.with("k", "left by the policy").makeCurrent();
            return Decision.allow();
        });
        String found = text(call.get(30, TimeUnit.SECONDS));
        assertThat(policy).containsOnly("none");
        return List.of(found);
    }

    private List<String> awaitsReference() throws Exception {
        try (RRef slow = context("creator").supply(() -> caller.rpc().remote("server", script("test::slow")))) {
            CompletableFuture<Response> call =
                    caller.rpc().rpcAsync("server", script("test::f", Value.of(slow)), Duration.ZERO);
            created.countDown();
            return List.of(text(call.get(30, TimeUnit.SECONDS)));
        }
    }

    private String down(int levels) {
        Request request = request("text.down");
        request.body().int64("left", levels);
        return text(caller.call(request));
    }

    private List<String> dispatched(String form, String operation) {
        int kind = 0x60 + WAYS.size() + seenKinds++;
        String key = "0x1" + Integer.toHexString(kind);
        List<String> outer = new ArrayList<>();
        if (form.equals("poller")) {
            workers.handleOnPoller(handlers, key, Wrapping.ASYNC);
        } else {
            workers.handle(handlers, key, (message, outbox) -> {
                outer.add(k());
                (form.equals("async") ? Wrapping.ASYNC : Wrapping.BLOCKING).handle(message, outbox);
                outer.add(k());
            });
        }
        Worker client = third(kind);
        outer.add(text(client.call(request(operation))));
        return outer;
    }

    private int seenKinds;

    private Worker third(int kind) {
        try {
            Worker client = workers.join("client" + kind);
            Wrapping.add(client, "text.*", kind, 0);
            return client;
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
