package io.waybill.script;

import static io.waybill.script.Calls.elements;
import static io.waybill.script.Calls.tensor;
import static io.waybill.script.DirectStorage.floats;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.tensor.Tensor;
import io.waybill.script.source.ScriptRefusedException;
import io.waybill.torch.LibTorch;
import io.waybill.torch.NativeTensors;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.bytedeco.javacpp.Pointer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Functions of scripts: compiled, called, refused, replaced and freed. */
@Timeout(value = 3, unit = TimeUnit.MINUTES)
class ScriptsTest {

    private static final ScriptEngine ENGINE = new ScriptEngine(
            new NativeTensors(new LibTorch(Path.of(System.getProperty(LibTorch.NATIVES_PROPERTY)), 1)),
            OperatorPolicy.standard());

    private static final String MATH = """
            import torch
            from typing import List, Optional, Tuple  # for editors

            def scale(x, by: float = 2.0):
                return shift(x) * by

            def shift(x: torch.Tensor, by: int = 0):
                return x + by
            """;

    @TempDir
    private Path directory;

    private final List<CompiledScript> open = new ArrayList<>();
    private final Tensor a = floats(new long[] {3}, 1, 2, 3);

    @AfterEach
    void close() {
        int before = CompiledScript.liveCount();
        open.forEach(script -> {
            ENGINE.functions().remove(script);
            script.close();
        });
        assertThat(CompiledScript.liveCount()).isEqualTo(before - open.size());
    }

    private CompiledScript serve(ScriptFile file) throws ScriptRefusedException {
        CompiledScript script = CompiledScript.of(file);
        open.add(script);
        ENGINE.functions().add(script);
        return script;
    }

    private CompiledScript source(String module, String text) throws Exception {
        return serve(ScriptFile.source(directory, module, text));
    }

    private static Invocation call(String name, Map<String, Object> named, Object... positional) {
        Map<String, Value> byName = new LinkedHashMap<>();
        named.forEach((key, value) -> byName.put(key, Calls.value(value)));
        return new Invocation(
                name, java.util.Arrays.stream(positional).map(Calls::value).toList(), byName);
    }

    private static Value run(Invocation call) throws RejectedMessageException {
        return OperatorName.isOne(call.name())
                ? ENGINE.run(call)
                : ENGINE.run(ENGINE.functions().find(call.name()), call, ScriptCalls.none());
    }

    private static Value run(String name, Object... positional) throws RejectedMessageException {
        return run(call(name, Map.of(), positional));
    }

    private static RejectedMessageException refusal(Invocation call) {
        RejectedMessageException refusal = catchThrowableOfType(RejectedMessageException.class, () -> run(call));
        assertThat(refusal).as("a refusal of " + call.name()).isNotNull();
        return refusal;
    }

    private String problem(String text) {
        ScriptRefusedException refusal = catchThrowableOfType(
                ScriptRefusedException.class, () -> CompiledScript.of(ScriptFile.source(directory, "math", text)));
        assertThat(refusal).isNotNull();
        return refusal.getMessage();
    }

    @Test
    void callsFunctionsByTheNamesOfTheirFileAndTheirOwn() throws Exception {
        CompiledScript script = source("math", MATH);

        assertThat(script.functions()).extracting(ScriptFunction::name).containsExactly("math.scale", "math.shift");
        assertThat(script.functions().get(0).signature()).hasToString("math.scale(Tensor x, float by=2.) -> Tensor");
        assertThat(elements(run("math.scale", a))).containsExactly(2, 4, 6);
        assertThat(elements(run("math.scale", a, 0.5))).containsExactly(0.5, 1, 1.5);
        assertThat(elements(run(call("math.shift", Map.of("by", 10, "x", a))))).containsExactly(11, 12, 13);
    }

    @Test
    void fillsInDefaultsAndTakesArgumentsOfManyKinds() throws Exception {
        source("kinds", """
                def four(a, b: Tensor = torch.ones(1), c: float = 3.0, d: int = 4):
                    return a + b * c + d

                def mixed(first: Tensor, word: str = "str_arg", more: str = "str_kwarg", n: int = 1):
                    return first, word + "_" + more, n

                def nested(rows: List[List[int]], pair: Tuple[int, str], maybe: Optional[float] = None):
                    if maybe is None:
                        return str(len(rows[1])) + pair[1]
                    return str(int(maybe))

                def nothing(x):
                    pass

                def entries() -> Dict[str, int]:
                    return {"a": 1}
                """);

        assertThat(elements(run("kinds.four", floats(new long[] {2}, 1, 1)))).containsExactly(8, 8);
        Value.Tuple mixed = (Value.Tuple) run(call("kinds.mixed", Map.of("n", 4), a));
        assertThat(mixed.values().subList(1, 3)).containsExactly(Value.of("str_arg_str_kwarg"), Value.of(4));
        Value rows = Calls.value(List.of(List.of(), List.of(1, 2)));
        Value pair = new Value.Tuple(List.of(Value.of(1), Value.of("x")));
        assertThat(run("kinds.nested", rows, pair)).isEqualTo(Value.of("2x"));
        assertThat(run("kinds.nested", rows, pair, 2)).isEqualTo(Value.of("2"));
        assertThat(run("kinds.nothing", a)).isEqualTo(Value.NONE);
        assertThat(run("kinds.entries")).isEqualTo(new Value.Dict(Map.of(Value.of("a"), Value.of(1))));
    }

    @Test
    void takesDictsUnionsAndAnything() throws Exception {
        source("open", """
                def total(prices: Dict[str, float], more: Dict[int, Tensor]):
                    sum = 0.0
                    for key in prices:
                        sum += prices[key]
                    for n in more:
                        sum += n * float(more[n].sum())
                    return sum

                def kind(x: Any) -> str:
                    if isinstance(x, int):
                        return "int"
                    if isinstance(x, List[int]):
                        return "ints " + str(len(x))
                    if isinstance(x, Dict[str, List[str]]):
                        return "dict " + x["a"][0]
                    if isinstance(x, Tensor):
                        return "tensor " + str(int(x.sum()))
                    return "other"

                def either(x: Union[int, str, List[float]]) -> str:
                    if isinstance(x, int):
                        return "int"
                    elif isinstance(x, str):
                        return "str " + x
                    return "floats " + str(len(x))

                def items(all: List[Any], named: Dict[str, Any]) -> int:
                    return len(all) + len(named)
                """);

        Value prices = new Value.Dict(Map.of(Value.of("x"), Value.of(1.5), Value.of("y"), Value.of(2)));
        Value more = new Value.Dict(Map.of(Value.of(3), Value.of(a)));
        assertThat(run("open.total", prices, more)).isEqualTo(Value.of(21.5));
        assertThat(run("open.total", new Value.Dict(Map.of()), new Value.Dict(Map.of())))
                .isEqualTo(Value.of(0.0));
        assertThat(run("open.kind", 4)).isEqualTo(Value.of("int"));
        assertThat(run("open.kind", List.of(4, 5))).isEqualTo(Value.of("ints 2"));
        Value nested = new Value.Dict(Map.of(Value.of("a"), Value.list(Value.of("z"))));
        assertThat(run("open.kind", nested)).isEqualTo(Value.of("dict z"));
        assertThat(run("open.kind", a)).isEqualTo(Value.of("tensor 6"));
        assertThat(run("open.kind", List.of(4, "x"))).isEqualTo(Value.of("other"));
        assertThat(run("open.either", 4)).isEqualTo(Value.of("int"));
        assertThat(run("open.either", "x")).isEqualTo(Value.of("str x"));
        assertThat(run("open.either", List.of(1, 2.5))).isEqualTo(Value.of("floats 2"));
        assertThat(run("open.items", List.of(1, "x", a), nested)).isEqualTo(Value.of(4));
        assertThat(refusal(call("open.total", Map.of(), prices, prices)))
                .hasMessageContaining("argument 'more' must be Dict(int, Tensor), not dict");
        assertThat(refusal(call("open.kind", Map.of(), new Value.Binary(new byte[1]))))
                .hasMessageContaining("argument 'x' must be Any, not bytes");
    }

    @Test
    void saysWhyTheSchemaDoesNotFit() throws Exception {
        source("math", MATH);

        RejectedMessageException refusal = refusal(call("math.scale", Map.of(), "x"));
        assertThat(refusal.code()).isEqualTo(ErrorCode.NO_MATCHING_SCHEMA);
        assertThat(refusal)
                .hasMessage("no schema of math.scale takes (str):\n"
                        + "  math.scale(Tensor x, float by=2.) -> Tensor\n"
                        + "    argument 'x' must be Tensor, not str");
        assertThat(refusal(call("math.scale", Map.of()))).hasMessageContaining("argument 'x' (Tensor) is missing");
        assertThat(refusal(call("math.scale", Map.of(), a, 1.0, 2)))
                .hasMessageContaining("takes at most 2 positional arguments, got 3");
        assertThat(refusal(call("math.scale", Map.of("third_kwarg", 1), a)))
                .hasMessageContaining("has no argument named 'third_kwarg'");
    }

    @Test
    void namesTheNearestFunctionsWhenThereIsNone() throws Exception {
        source("math", MATH);

        RejectedMessageException refusal = refusal(call("math.scal", Map.of(), a));
        assertThat(refusal.code()).isEqualTo(ErrorCode.UNKNOWN_OPERATION);
        assertThat(refusal)
                .hasMessageStartingWith("no script here has a function math.scal; the nearest names are math.scale");
    }

    @Test
    void keepsLibtorchsTextOfAnErrorInTheBody() throws Exception {
        source("math", """
                def checked(x: int):
                    assert x < 0, "Expected error"
                    return x

                def added(x, y):
                    return x + y
                """);

        RejectedMessageException refusal = refusal(call("math.checked", Map.of(), 1));
        assertThat(refusal.code()).isEqualTo(ErrorCode.REFUSED);
        assertThat(refusal)
                .hasMessageContaining("Traceback of TorchScript (most recent call last)")
                .hasMessageContaining("line 2")
                .hasMessageContaining("AssertionError: Expected error");
        assertThat(refusal(call("math.added", Map.of(), a, floats(new long[] {2}, 1, 2))))
                .hasMessageContaining("The size of tensor a (3) must match the size of tensor b (2)")
                .message()
                .doesNotContain("frame #");
    }

    @Test
    void namesTheLineOfTheFileThatRaises() throws Exception {
        source("math", """
                def root(x: float) -> float:
                    if x < 0:
                        raise ValueError(f"no root of {x}")
                    return x ** 0.5

                def through(x: float) -> float:
                    return root(x)
                """);
        assertThat(refusal(call("math.root", Map.of(), -1.0)))
                .hasMessageContaining("File \"math.py\", line 3, in root")
                .hasMessageContaining("builtins.ValueError: no root of -1");
        assertThat(refusal(call("math.through", Map.of(), -1.0))).hasMessageContaining("File \"math.py\", line 3, in");
    }

    @Test
    void saysLineAndLibtorchsTextOfWhatDoesNotCompile() {
        assertThat(problem("def scale(x):\n    return foo(x)\n"))
                .startsWith("line 2: undefined value foo:")
                .contains("return foo(x)");
        assertThat(problem("import torch\n\ndef scale(x):\n    return x +\n")).contains("expected ident but found");
        assertThat(problem("def f(x: int) -> str:\n    return x\n"))
                .startsWith("line 2: Return value was annotated as having type str");
        assertThat(problem("def f(x):\n    return x\n\ndef f(x):\n    return x\n"))
                .isEqualTo("line 4: f is defined already, in line 1");
        assertThat(problem("import os\n")).isEqualTo("a script holds 1 to 1000 functions, and this holds 0");
        assertThat(problem("def f(x):\n    return x\0\n")).contains("zero byte");
        assertThat(problem("def f(x):\n    return (x\n")).isEqualTo("line 2: this ( is never closed");
        assertThat(problem("def f(x):\n    return x]\n")).isEqualTo("line 2: this ] closes nothing");
        assertThat(problem("def f(x):\n    return \"x\n")).isEqualTo("line 2: the string that begins here never ends");
        assertThat(problem("\ufeffdef f(x):\n    return x\n")).contains("byte order mark");
    }

    @Test
    void refusesWhatIsNoText() throws IOException {
        Path file = Files.write(directory.resolve("math.py"), new byte[] {(byte) 0xff, 'x'});

        ScriptRefusedException refusal =
                catchThrowableOfType(ScriptRefusedException.class, () -> CompiledScript.of(new ScriptFile(file, 0)));
        assertThat(refusal).hasMessageContaining("text in UTF-8");
    }

    @Test
    void callsTheMethodsOfASavedModule() throws Exception {
        Path file = SavedModule.save(directory.resolve("model.pt"), 3, """
                def forward(self, x, by: int = 3):
                    return x * self.w * by

                def size(self) -> int:
                    return self.w.size(0)
                """);
        CompiledScript script = serve(new ScriptFile(file, 0));

        assertThat(script.functions().get(0).signature()).hasToString("model.forward(Tensor x, int by=3) -> Tensor");
        assertThat(script.functions().get(1).signature()).hasToString("model.size() -> int");
        assertThat(elements(run("model.forward", a))).containsExactly(3, 6, 9);
        assertThat(elements(run(call("model.forward", Map.of("by", 1), a)))).containsExactly(1, 2, 3);
        assertThat(run("model.size")).isEqualTo(Value.of(3));
        assertThat(refusal(call("model.forward", Map.of()))).hasMessageContaining("argument 'x' (Tensor) is missing");
    }

    @Test
    void refusesAModuleThatIsNone() throws IOException {
        Path file = Files.writeString(directory.resolve("model.pt"), "not a module");

        ScriptRefusedException refusal =
                catchThrowableOfType(ScriptRefusedException.class, () -> CompiledScript.of(new ScriptFile(file, 0)));
        assertThat(refusal)
                .hasMessageContaining("PytorchStreamReader failed")
                .message()
                .doesNotContain("frame #");
    }

    private void forking() throws Exception {
        serve(new ScriptFile(SavedModule.saveWithCode(directory, "forking", """
                        class Model(Module):
                          __parameters__ = ["w", ]
                          __buffers__ = ["kept", ]
                          w : Tensor
                          kept : Tensor
                          def later(self: __torch__.Model,
                            x: Tensor) -> Future[Tensor]:
                            _0 = fork(__torch__.slow, x)
                            return _0
                          def failing(self: __torch__.Model,
                            x: Tensor) -> Future[Tensor]:
                            _0 = fork(__torch__.fail, x)
                            return _0
                          def now(self: __torch__.Model,
                            x: Tensor) -> Tensor:
                            return x
                        def slow(x: Tensor) -> Tensor:
                          y = x
                          for i in range(100):
                            y = torch.add(y, 1)
                          return torch.sub(y, 99)
                        def fail(x: Tensor) -> Tensor:
                          ops.prim.RaiseException("Expected error", "builtins.RuntimeError")
                          return x
                        """), 0));
    }

    @Test
    void respondsToAnAsyncCallWithTheValueOfItsFuture() throws Exception {
        forking();
        Invocation later = call("forking.later", Map.of(), a).withMode(Invocation.Mode.ASYNC);

        for (int i = 0; i < 200; i++) {
            Value value = run(later);
            assertThat(elements(value)).containsExactly(2, 3, 4);
            tensor(value).storage().release();
        }
        assertThat(((DirectStorage) a.storage()).count).hasValue(1);
    }

    @Test
    void reportsAFuturesErrorAndRefusesWhatIsNoFuture() throws Exception {
        forking();
        RejectedMessageException failed =
                refusal(call("forking.failing", Map.of(), a).withMode(Invocation.Mode.ASYNC));
        assertThat(failed.code()).isEqualTo(ErrorCode.REFUSED);
        assertThat(failed).hasMessageContaining("Expected error");

        RejectedMessageException wrong =
                refusal(call("forking.now", Map.of(), a).withMode(Invocation.Mode.ASYNC));
        assertThat(wrong.code()).isEqualTo(ErrorCode.REFUSED);
        assertThat(wrong).hasMessage("Async functions must return an IValue of Future type, but got Tensor");
        assertThat(refusal(call("forking.later", Map.of(), a)))
                .hasMessage("a result of the kind Future does not travel");
        assertThat(refusal(call("aten::relu", Map.of(), a).withMode(Invocation.Mode.ASYNC)))
                .hasMessageContaining("aten::relu is an operator");
    }

    /** A task that outlives its script once destroyed memory that the task's profile was written to. */
    @Test
    void freesAScriptWhileTasksThatItForkedRun() throws Exception {
        for (int i = 0; i < 100; i++) {
            forking();
            for (int calls = 0; calls < 3; calls++) {
                refusal(call("forking.later", Map.of(), a));
            }
            close();
            open.clear();
        }
        forking();
        Value value = run(call("forking.later", Map.of(), a).withMode(Invocation.Mode.ASYNC));
        assertThat(elements(value)).containsExactly(2, 3, 4);
        tensor(value).storage().release();
    }

    @Test
    void keepsTheBytesOfAnArgumentThatAModuleKept() throws Exception {
        Path file = SavedModule.save(directory.resolve("model.pt"), 1, """
                def keep(self, x):
                    self.kept = x
                    return 1

                def keep_part(self, x):
                    self.kept = x[1:]
                    return 1

                def forget(self):
                    self.kept = torch.zeros(1)
                    return 1

                def sum(self):
                    return self.kept.sum()
                """);
        serve(new ScriptFile(file, 0));
        DirectStorage bytes = (DirectStorage) a.storage();

        for (String keep : List.of("model.keep", "model.keep_part")) {
            run(keep, a);
            assertThat(bytes.count).as("while it is kept").hasValue(2);
            assertThat(ENGINE.storageCount()).isEqualTo(1);
            assertThat(elements(run("model.sum"))).containsExactly(keep.endsWith("part") ? 5 : 6);
            run(keep, floats(new long[] {2}, 1, 1));
            run("model.sum");
            assertThat(bytes.count).as("after another took its place").hasValue(1);
            run("model.forget");
            run("model.sum");
            assertThat(ENGINE.storageCount()).isZero();
        }
    }

    @Test
    void finishesACallInTheVersionThatItBeganIn() throws Exception {
        CompiledScript first = source("math", "def f() -> int:\n    return 1\n");
        ScriptFunction begun = ENGINE.functions().find("math.f");
        assertThat(first.enter()).isTrue();
        source("math", "def f() -> int:\n    return 2\n");
        ENGINE.functions().remove(first);
        int live = CompiledScript.liveCount();
        first.close();
        open.remove(first);

        assertThat(run("math.f")).isEqualTo(Value.of(2));
        assertThat(ENGINE.run(begun, call("math.f", Map.of()), ScriptCalls.none()))
                .isEqualTo(Value.of(1));
        assertThat(CompiledScript.liveCount()).isEqualTo(live);
        first.leave();
        assertThat(CompiledScript.liveCount()).isEqualTo(live - 1);
        RejectedMessageException gone = catchThrowableOfType(
                RejectedMessageException.class, () -> ENGINE.run(begun, call("math.f", Map.of()), ScriptCalls.none()));
        assertThat(gone.code()).isEqualTo(ErrorCode.HANDLER_GONE);
    }

    @Test
    void prefersTheHigherRankingThenTheOlder() throws Exception {
        Path low = Files.createDirectory(directory.resolve("low"));
        Path high = Files.createDirectory(directory.resolve("high"));
        ScriptFile below = ScriptFile.source(low, "math", "def f() -> int:\n    return 1\n");
        ScriptFile above = ScriptFile.source(high, "math", "def f() -> int:\n    return 2\n");
        serve(new ScriptFile(below.file(), 0));
        serve(new ScriptFile(below.file(), 0));
        assertThat(run("math.f")).isEqualTo(Value.of(1));
        CompiledScript preferred = serve(new ScriptFile(above.file(), 1));
        assertThat(run("math.f")).isEqualTo(Value.of(2));
        ENGINE.functions().remove(preferred);
        assertThat(run("math.f")).isEqualTo(Value.of(1));
    }

    @Test
    void freesTheMemoryOfWhatWasReplaced() throws Exception {
        Path file = SavedModule.save(
                directory.resolve("model.pt"), 2 << 20, "def forward(self, x):\n    return x * self.w[0]\n");
        long bytes = 0;
        for (int i = 0; i < 120; i++) {
            CompiledScript script = serve(new ScriptFile(file, 0));
            tensor(run("model.forward", a)).storage().release();
            ENGINE.functions().remove(script);
            script.close();
            open.remove(script);
            if (i == 20) {
                bytes = Pointer.physicalBytes();
            }
        }
        // Each holds 8 MiB: those that stayed would be 800 MiB.
        assertThat(Pointer.physicalBytes() - bytes).isLessThan(250L << 20);
    }
}
