package io.waybill.script;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.Value;
import io.waybill.script.source.ScriptRefusedException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Functions of a source that can't be compiled: refused alone, with line and reason, while the others are served. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class RefusedFunctionsTest {

    private static final Calls CALLS = new Calls();

    @TempDir
    private Path directory;

    private Map<String, String> refusals(String text) throws Exception {
        return refusals(text, "math.good");
    }

    private Map<String, String> refusals(String text, String... served) throws Exception {
        try (CompiledScript script = CompiledScript.of(ScriptFile.source(directory, "math", text))) {
            assertThat(script.functions()).extracting(ScriptFunction::name).containsExactlyInAnyOrder(served);
            return script.refusals();
        }
    }

    private static final String GOOD = "\n\ndef good(n: int) -> int:\n    return n + 1\n";

    @Test
    void refusesAFunctionAloneWithItsLine() throws Exception {
        assertThat(refusals("import numpy as np\n\ndef bad(x):\n    return np.sum(x)" + GOOD))
                .containsEntry("bad", "line 4: numpy.sum is Python: TorchScript has nothing like it");
        assertThat(refusals("def bad(x):\n    return x +" + GOOD).get("bad")).startsWith("line 2: expected ident but");
        assertThat(refusals("def bad(x):\n    if x:" + GOOD).get("bad"))
                .isEqualTo("line 2: a block is expected behind this line");
        assertThat(refusals("def bad(x):\n    return foo(x)" + GOOD).get("bad"))
                .startsWith("line 2: undefined value foo");
        assertThat(refusals("import functools\n@functools.cache\ndef bad(x):\n    return x" + GOOD)
                        .get("bad"))
                .isEqualTo("line 2: the decorator @functools.cache is Python: TorchScript has none like it");
        assertThat(refusals("table = [1, 2]\ndef bad(i: int):\n    return table[i]" + GOOD)
                        .get("bad"))
                .isEqualTo("line 3: table is no constant: a function takes it as an argument");
        assertThat(refusals("def bad(x: float):\n    return f\"{x:.2f}\"" + GOOD)
                        .get("bad"))
                .isEqualTo("line 2: an f-string of TorchScript has no formats and conversions: {x:.2f}");
        assertThat(refusals("def bad(n: int) -> int:\n    return bad(n - 1)" + GOOD)
                        .get("bad"))
                .isEqualTo("line 1: bad calls itself: functions of TorchScript can't be recursive");
    }

    /** On a thread of libtorch's that has called Java, the end of the JVM would wait for itself. */
    @Test
    void refusesToForkBesideCallsOfOtherWorkers() throws Exception {
        assertThat(refusals("""
                def bad(x):
                    return torch.jit.wait(torch.jit.fork(good, 1))

                def calls(to: str) -> int:
                    return rpc.rpc_sync(to, good, (1,))
                """ + GOOD, "math.calls", "math.good").get("bad"))
                .startsWith("line 2: torch.jit.fork does not go with calls of other workers in one file");
    }

    @Test
    void refusesASavedModuleThatCallsOtherWorkersByTheMethod() throws Exception {
        for (String call : List.of("rpc_sync", "rpc_async", "rpc_remote")) {
            Path file = SavedModule.saveWithCode(directory, call, """
                    class Model(Module):
                      __parameters__ = ["w", ]
                      __buffers__ = ["kept", ]
                      w : Tensor
                      kept : Tensor
                      def plain(self: __torch__.Model,
                        x: Tensor) -> Tensor:
                        return torch.add(x, 1)
                      def calls(self: __torch__.Model,
                        x: Tensor) -> Tensor:
                        _0 = (x, 2.)
                        first = ops.prim.%s()
                        return torch.add(x, 2)
                    """.formatted(call));

            assertThatThrownBy(() -> CompiledScript.of(new ScriptFile(file, 0)).close())
                    .as("a module with " + call)
                    .isInstanceOf(ScriptRefusedException.class)
                    .hasMessage("calls calls another worker: torch.jit.save has written " + call
                            + " in code/__torch__.py without its arguments, and PyTorch can't load such a file either;"
                            + " serve the function from a .py");
        }
    }

    @Test
    void refusesWhatUsesARefusedFunctionOrClass() throws Exception {
        Map<String, String> refusals = refusals("""
                class Net(torch.nn.Module):
                    def forward(self, x):
                        return x

                def first(x):
                    return second(x)

                def second(x):
                    try:
                        return x
                    except ValueError:
                        return x

                def third(x):
                    return Net()(x)
                """ + GOOD);

        assertThat(refusals.get("second")).startsWith("line 9: ");
        assertThat(refusals.get("first")).startsWith("line 6: it uses second, which is refused: line 9: ");
        assertThat(refusals.get("third"))
                .isEqualTo("line 15: it uses Net, which is refused: line 1: torch.nn.Module is Python: TorchScript has"
                        + " nothing like it");
    }

    @Test
    void refusesACallOfAnotherWorkerAlone() throws Exception {
        assertThat(refusals("def bad(to: str):\n    return rpc.rpc_sync(to, unknown)" + GOOD)
                        .get("bad"))
                .startsWith("line 2: rpc.rpc_sync calls a function of this file by its name, and unknown is none");
        assertThat(refusals(
                        "import numpy\ndef bad(to: str):\n    return numpy.sum(rpc.rpc_sync(to, good, (1,)))" + GOOD))
                .containsEntry("bad", "line 3: numpy.sum is Python: TorchScript has nothing like it");
        assertThat(refusals(
                        "import torch.distributed.rpc as r\ndef bad(to: str):\n    return r.rpc_sync(to, good, (1,))"
                                + GOOD))
                .containsEntry(
                        "bad", "line 3: torch.distributed.rpc.rpc_sync is Python: TorchScript has nothing like it");
    }

    @Test
    void refusesAFunctionOfPyTorchWhoseOperatorIsAnother() throws Exception {
        for (String name : List.of("nn.functional.max_unpool2d", "nn.functional.embedding_bag", "stft")) {
            assertThat(refusals("def bad(x, i):\n    return torch." + name + "(x, i, 2)" + GOOD))
                    .containsEntry("bad", "line 2: torch." + name + " is Python: TorchScript has nothing like it");
        }
    }

    @Test
    void takesAVariableForAConstantOnlyIfNothingChangesIt() throws Exception {
        for (String change : List.of("LIMIT = list(range(3))", "LIMIT += 1", "for LIMIT in range(3):\n    pass")) {
            assertThat(refusals("LIMIT = 1\n" + change + "\n\ndef bad() -> int:\n    return LIMIT" + GOOD)
                            .get("bad"))
                    .as(change)
                    .endsWith("LIMIT is no constant: a function takes it as an argument");
        }
    }

    @Test
    void saysInTheCallWhyTheFunctionIsNotServed() throws Exception {
        Functions functions = CALLS.engine.functions();
        functions.refuse(this, Map.of("math.bad", "math.py, line 4: why", "other.", "other.py, line 1: why not"));

        assertThat(functions.unknown("math.bad"))
                .hasMessage("the function math.bad is not served: math.py, line 4: why");
        assertThat(functions.unknown("other.any"))
                .hasMessage("the function other.any is not served: other.py, line 1: why not");
        functions.forget(this);
        assertThat(functions.unknown("math.bad")).hasMessageStartingWith("no script here has a function math.bad");
    }

    @Test
    void keepsTheMeaningOfPython() throws Exception {
        String text = """
                import math
                import torch.nn.functional as F
                from torch import Tensor as T

                LIMIT = 0x10
                NAMES: Final[str] = "a" 'b'

                def between(x: int) -> bool:
                    return 0 <= x < LIMIT != 3 and not 1 == x

                def shadows(LIMIT: int, math: float) -> float:
                    F = math  # not the module
                    return F + LIMIT + len(NAMES)

                def text(x: T, n: int = 1_000) -> str:
                    '''What it does,
                    in two lines.'''
                    return f"{n}{{x}} {x.size(0)} {NAMES}" r"\\d"
                """;
        try (CompiledScript script = CompiledScript.of(ScriptFile.source(directory, "math", text))) {
            assertThat(script.refusals()).isEmpty();
            CALLS.engine.functions().add(script);
            assertThat(run("math.between", 5)).isEqualTo(Value.of(true));
            assertThat(run("math.between", -5)).isEqualTo(Value.of(false));
            assertThat(run("math.between", 16)).isEqualTo(Value.of(false));
            assertThat(run("math.shadows", 1, 2.0)).isEqualTo(Value.of(5.0));
            assertThat(run("math.text", DirectStorage.floats(new long[] {2}, 1, 2)))
                    .isEqualTo(Value.of("1000{x} 2 ab\\d"));
            CALLS.engine.functions().remove(script);
        }
    }

    private static Value run(String name, Object... arguments) throws Exception {
        io.waybill.api.Invocation call = new io.waybill.api.Invocation(
                name, java.util.Arrays.stream(arguments).map(Calls::value).toList(), Map.of());
        return CALLS.engine.run(CALLS.engine.functions().find(name), call, ScriptCalls.none());
    }
}
