package io.waybill.script;

import static io.waybill.script.Calls.elements;
import static io.waybill.script.DirectStorage.floats;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.MessageId;
import io.waybill.api.RRef;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.Provider;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import io.waybill.torch.LibTorch;
import io.waybill.torch.NativeTensors;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Functions of scripts that call functions on other workers: two real ones, in one home. */
@Timeout(value = 3, unit = TimeUnit.MINUTES)
class ScriptRpcTest {

    private static final ScriptEngine ENGINE = new ScriptEngine(
            new NativeTensors(new LibTorch(Path.of(System.getProperty(LibTorch.NATIVES_PROPERTY)), 1)),
            OperatorPolicy.standard());

    private static final String CALLS = """
            import torch
            import torch.distributed.rpc as rpc
            from typing import Any, Dict, List, Tuple

            def add(x: Tensor, y: Tensor, times: int = 1):
                return (x + y) * times

            def failing(x: int) -> int:
                assert x < 0, "Expected error"
                return x

            def mixed(x: Tensor, word: str):
                return {"sum": x.sum(), "twice": x * 2}, [word, word]

            def sync(to: str, x: Tensor):
                return rpc.rpc_sync(to, add, (x, x), {"times": 2})

            def later(to: str, x: Tensor):
                first = rpc.rpc_async(to, add, args=(x, x))
                second = rpc.rpc_async(
                    to,  # a comment, with a comma
                    add,
                    args=(x, rpc.rpc_sync(to, add, (x, x))),
                    timeout=20,
                )
                return first.wait() + second.wait()

            def futures(to: str, x: Tensor, n: int):
                all: List[Future[Tensor]] = []
                for i in range(n):
                    all.append(rpc.rpc_async(to, add, (x, x * i)))
                sum = torch.zeros_like(x)
                for future in all:
                    sum += future.wait()
                return sum

            def twice_alike(to: str):
                rpc.rpc_sync(to, failing, (-1,))
                return rpc.rpc_sync(to, failing, (-1,)) + rpc.rpc_sync(to, failing, (-1,))

            def unused(to: str):
                rpc.rpc_sync(to, failing, (1,))
                return 1

            def unused_wait(to: str):
                future = rpc.rpc_async(to, failing, (1,))
                future.wait()
                return 1

            def not_waited_for(to: str):
                rpc.rpc_async(to, failing, (1,))
                return 1

            def sent(to: str, x: int):
                future = rpc.rpc_async(to, failing, (x,))
                return future

            def dicts(to: str, x: Tensor):
                entries, words = rpc.rpc_sync(to, mixed, (x,), {"word": "rpc.rpc_sync(to, nothing)"})
                return entries["twice"], words

            def around(by: List[str], x: Tensor) -> Tensor:
                if len(by) == 0:
                    return x + 1
                return rpc.rpc_sync(by[0], around, (by[1:], x + 1))

            def left(to: str, x: Tensor):
                return rpc.remote(to, add, (x, x))

            def fetched(of: RRef[Tensor], x: Tensor):
                return of.to_here() + of.to_here() * x

            def passed_on(to: str, x: Tensor):
                return rpc.rpc_sync(to, fetched, (rpc.remote(to, add, (x, x)), x))

            def limited(to: str, seconds: float):
                return rpc.rpc_sync(to, held, timeout=seconds)

            def limited_later(to: str, seconds: float):
                return rpc.rpc_async(to, held, (), timeout=seconds).wait()

            def held() -> int:
                return 5

            def states(of: List[RRef[Tensor]]):
                return of[0].is_owner(), of[0] . confirmed_by_owner()

            def here(of: RRef[Tensor]):
                return of.local_value() + of.local_value()

            def fetched_within(to: str, seconds: float):
                return rpc.remote(to, held).to_here(timeout=seconds)

            def gradients(context: int):
                return len(torch.distributed.autograd.get_gradients(context))
            """;

    @TempDir
    private Path directory;

    private final Host host = Host.real();
    private final List<Worker> workers = new ArrayList<>();
    private final ConcurrentLinkedQueue<String> seen = new ConcurrentLinkedQueue<>();
    private final Tensor x = floats(new long[] {2}, 1, 2);
    private CompiledScript script;
    private Worker a;

    @BeforeEach
    void joinTwo() throws Exception {
        script = CompiledScript.of(ScriptFile.source(directory, "calls", CALLS));
        Home home = Home.open(directory.resolve("home"), host);
        a = join(home, "a", null);
        join(home, "b", "calls.held");
    }

    @AfterEach
    void leave() throws IOException {
        int live = CompiledScript.liveCount();
        for (Worker worker : workers) {
            worker.close();
        }
        if (script == null) {
            return; // what did not compile says so itself
        }
        script.close();
        assertThat(CompiledScript.liveCount()).isEqualTo(live - 1);
    }

    /** @param without a function that it has a handler for which never responds; null for none */
    private Worker join(Home home, String name, String without) throws IOException {
        HandlerRegistry registry = new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock());
        Provider provider = new Provider("scripts-" + name, "1.0.0");
        FunctionCall functions = new FunctionCall(ENGINE, script);
        for (ScriptFunction function : script.functions()) {
            MessageHandler handler = function.name().equals(without)
                    ? (message, outbox) -> outbox.later()
                    : (message, outbox) -> {
                        seen.add(name + " " + message.operation()
                                + (message.parentId() == MessageId.NONE ? "" : " nested"));
                        functions.handle(message, outbox);
                    };
            registry.add(new HandlerSpec(
                    List.of(HandlerKey.parse("function:" + function.name())),
                    handler,
                    false,
                    provider,
                    0,
                    ScriptRpcTest.class.getClassLoader(),
                    registry.newExecutor(provider, ExecutorSettings.forProcessors(2))));
        }
        Worker worker = Worker.join(
                home,
                name,
                JoinOptions.defaults(),
                WorkerSettings.builder().defaultTimeout(Duration.ofSeconds(60)).build(),
                registry);
        workers.add(worker);
        worker.ready(Map.of());
        return worker;
    }

    private void call(String function, Consumer<Value> check, Object... arguments) {
        try (Response response = a.rpc().rpcSync("a", invocation(function, arguments))) {
            check.accept(response.value());
        }
    }

    private static Invocation invocation(String function, Object... arguments) {
        List<Value> values =
                java.util.Arrays.stream(arguments).map(Calls::value).toList();
        return new Invocation("calls." + function, values, new LinkedHashMap<>());
    }

    private CallException error(String function, Object... arguments) {
        CallException error = catchThrowableOfType(CallException.class, () -> call(function, value -> {}, arguments));
        assertThat(error).as("an error of " + function).isNotNull();
        return error;
    }

    private static Consumer<Value> holds(double... expected) {
        return value -> assertThat(elements(value)).containsExactly(expected);
    }

    /** Once what was given back has been heard of. */
    private static boolean hasNoReferences(Worker worker) {
        long start = System.nanoTime();
        while (!worker.rpc().debugInfo().get("num_owner_rrefs").equals("0")) {
            if (System.nanoTime() - start > TimeUnit.SECONDS.toNanos(30)) {
                return false;
            }
            Thread.onSpinWait();
        }
        return true;
    }

    @Test
    void callsAndWaits() {
        call("sync", holds(4, 8), "b", x);
        call("sync", holds(4, 8), "a", x);
        assertThat(seen).contains("b calls.add nested");
    }

    @Test
    void callsAndGoesOn() {
        call("later", holds(2 + 3, 4 + 6), "b", x);
        call("futures", holds(20 + 190, 40 + 380), "b", x, 20);
        call("futures", holds(0, 0), "b", x, 0);
    }

    @Test
    void givesEachTypeOfResultAsItWasDeclared() {
        call(
                "dicts",
                value -> {
                    List<Value> parts = ScriptValues.elements(value);
                    assertThat(elements(parts.get(0))).containsExactly(2, 4);
                    Value word = Value.of("rpc.rpc_sync(to, nothing)");
                    assertThat(parts.get(1)).isEqualTo(Value.list(word, word));
                },
                "b",
                x);
    }

    @Test
    void makesEveryCallOnceAlsoThoseWhoseResultIsUnused() {
        call("twice_alike", value -> assertThat(value).isEqualTo(Value.of(-2)), "b");
        assertThat(seen)
                .containsExactly(
                        "a calls.twice_alike",
                        "b calls.failing nested",
                        "b calls.failing nested",
                        "b calls.failing nested");
        assertThat(error("unused", "b")).hasMessageContaining("Expected error");
        assertThat(error("unused_wait", "b")).hasMessageContaining("Expected error");
        call("not_waited_for", value -> assertThat(value).isEqualTo(Value.of(1)), "b");
    }

    @Test
    void reportsTheCalleesErrorWithWhereItWasCalled() {
        CallException refused = error("unused", "b");
        assertThat(refused.code()).isEqualTo(ErrorCode.REFUSED);
        assertThat(refused)
                .hasMessageContaining("AssertionError: Expected error")
                .hasMessageContaining("line 42, in unused")
                .message()
                .doesNotContain("java.lang")
                .doesNotContain("io.waybill")
                .doesNotContain("frame #");
        assertThat(error("sync", "nobody", x)).hasMessageContaining("nobody");
    }

    @Test
    void respondsWithAFutureOfACall() {
        Invocation sent = invocation("sent", "b", -3).withMode(Invocation.Mode.ASYNC);
        try (Response response = a.rpc().rpcSync("a", sent)) {
            assertThat(response.value()).isEqualTo(Value.of(-3));
        }
        Invocation failed = invocation("sent", "b", 3).withMode(Invocation.Mode.ASYNC);
        CallException error =
                catchThrowableOfType(CallException.class, () -> a.rpc().rpcSync("a", failed));
        assertThat(error).hasMessageContaining("Expected error");
        assertThat(error("sent", "b", -3)).hasMessage("a result of the kind Future does not travel");
    }

    @Test
    void callsWithinCalls() {
        call("around", holds(6, 7), List.of("b", "a", "b", "a"), x);
    }

    @Test
    void leavesResultsWhereTheyAreAndPassesReferencesOn() {
        call("passed_on", holds(2 + 2, 4 + 8), "b", x);
        try (Response response = a.rpc().rpcSync("a", invocation("left", "b", x))) {
            RRef reference = ((Value.OfRRef) response.value()).value();
            assertThat(reference.owner()).isEqualTo(workers.get(1).info().id());
            try (Response fetched = reference.toHere()) {
                holds(2, 4).accept(fetched.value());
            }
            call("fetched", holds(4, 12), Value.of(reference), x);
        }
        for (Worker worker : workers) {
            assertThat(hasNoReferences(worker))
                    .as("references of " + worker.info().name() + ": "
                            + worker.rpc().debugInfo())
                    .isTrue();
        }
    }

    @Test
    void knowsOfAReferenceWhoOwnsItAndGivesItsValueThere() {
        try (Response response = a.rpc().rpcSync("a", invocation("left", "b", x))) {
            Value reference = response.value();
            call("states", value -> assertThat(value).isEqualTo(pair(false)), List.of(reference));
            try (Response atOwner = a.rpc().rpcSync("b", invocation("states", List.of(reference)))) {
                assertThat(atOwner.value()).isEqualTo(pair(true));
            }
            assertThat(error("here", reference))
                    .hasMessageContaining("Can't call RRef.local_value() on a non-owner RRef");
            try (Response atOwner = a.rpc().rpcSync("b", invocation("here", reference))) {
                holds(4, 8).accept(atOwner.value());
            }
        }
    }

    private static Value pair(boolean isOwner) {
        return new Value.Tuple(List.of(Value.of(isOwner), Value.of(true)));
    }

    @Test
    void fetchesWithinTheTimeoutThatIsGiven() {
        assertThat(error("fetched_within", "b", 0.05))
                .hasMessageContaining("RPC ran for more than set timeout (50 ms)");
        assertThat(error("fetched_within", "b", 0.0000001)).hasMessageContaining("RPC ran for more than set timeout");
        for (double seconds : new double[] {Double.NaN, -2, Double.NEGATIVE_INFINITY}) {
            for (String function : List.of("fetched_within", "limited", "limited_later")) {
                assertThat(error(function, "b", seconds))
                        .hasMessageContaining("a timeout is seconds, 0 for none, -1 for the default, and this is");
            }
        }
    }

    @Test
    void saysThatDistributedAutogradIsNotHere() {
        assertThat(error("gradients", 1)).hasMessageContaining("install the bundle io.waybill.autograd in this node");
    }

    @Test
    void timesOutAsItsCallSaysOrWithTheRequestThatItServes() {
        for (String function : List.of("limited", "limited_later")) {
            assertThat(error(function, "b", 0.05)).hasMessageContaining("RPC ran for more than set timeout (50 ms)");
            CallException late = catchThrowableOfType(
                    CallException.class,
                    () -> a.rpc().rpcSync("a", invocation(function, "b", 0.0), Duration.ofMillis(200)));
            assertThat(late).as("ends with its request").hasMessageContaining("RPC ran for more than set timeout");
        }
        call("sync", holds(4, 8), "b", x);
    }

    @Test
    void makesNoCallWhereNoMessageCalledIt() throws Exception {
        ENGINE.functions().add(script);
        try {
            Throwable refused = catchThrowableOfType(
                    io.waybill.api.RejectedMessageException.class, () -> ENGINE.run(invocation("sync", "b", x)));
            assertThat(refused).hasMessageContaining("was not called by a message");
        } finally {
            ENGINE.functions().remove(script);
        }
    }

    @Test
    void servesTheScriptsOwnFunctionsAndShowsReferencesInTheirSchemas() {
        assertThat(script.functions())
                .extracting(ScriptFunction::name)
                .doesNotContain("calls.__rpc_sync__add")
                .hasSize(23);
    }
}
