package io.waybill.script;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Invocation;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.tensor.DType;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What functions return whose headers, or whose comprehensions, say more than libtorch reads. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class DeclaredResultsTest {

    private static final ScriptEngine ENGINE = new Calls().engine;

    private static final String SOURCE = """
            import torch
            import typing
            from torch import dtype
            from typing import Dict, List, Optional, Tuple

            def of(x: torch.Tensor) -> torch.dtype:
                return x.dtype

            def several(
                x: torch.Tensor,
                other: int = 1,
            ) -> Tuple[torch.Tensor, dtype, int, List[torch.dtype]]:
                return x, x.dtype, 6, [x.dtype, torch.int64]

            def named(x: torch.Tensor) -> Dict[str, typing.Optional[torch.dtype]]:
                found: Dict[str, Optional[torch.dtype]] = {"of": x.dtype, "none": None}
                return found

            def number(x: torch.Tensor):
                return x.dtype

            def ints(x: torch.Tensor) -> List[int]:
                return [x.dtype]

            def promoted(x: torch.Tensor, to: torch.dtype) -> torch.dtype:
                return torch.promote_types(of(x), to)

            def chosen(words: Dict[str, int], keys: List[str]):
                found: List[Optional[int]] = [words[key] if key in words else None for key in keys]
                return found, [1 if key == "a" else 0 for key in [k + "" for k in keys]]

            def by_key(keys: List[str]):
                return {key: 1 if key == "a" else 0 for key in keys}
            """;

    @TempDir
    private Path directory;

    private CompiledScript script;

    @BeforeEach
    void serve() throws Exception {
        script = CompiledScript.of(ScriptFile.source(directory, "declared", SOURCE));
        ENGINE.functions().add(script);
        assertThat(script.refusals()).isEmpty();
    }

    @AfterEach
    void close() {
        ENGINE.functions().remove(script);
        script.close();
    }

    private static Value run(String name, Object... arguments) throws RejectedMessageException {
        List<Value> values =
                java.util.Arrays.stream(arguments).map(Calls::value).toList();
        Invocation call = new Invocation("declared." + name, values, Map.of());
        return ENGINE.run(ENGINE.functions().find(call.name()), call, ScriptCalls.none());
    }

    @Test
    void anElementTypeIsReturnedAsOneWhereTheHeaderDeclaresIt() throws Exception {
        Value x = Calls.value(DirectStorage.floats(new long[] {1}, 1));
        Value float32 = Value.of(DType.FLOAT32);
        Value int64 = Value.of(DType.INT64);

        assertThat(run("of", x)).isEqualTo(float32);
        List<Value> several = ((Value.Tuple) run("several", x)).values();
        assertThat(several.subList(1, 4))
                .containsExactly(float32, Value.of(6), new Value.Items(List.of(float32, int64)));
        assertThat(run("named", x))
                .isEqualTo(new Value.Dict(Map.of(Value.of("of"), float32, Value.of("none"), Value.NONE)));
        assertThat(run("promoted", x, int64)).isEqualTo(float32);
        assertThat(run("number", x)).as("without a declaration, as in PyTorch").isEqualTo(Value.of(6));
        assertThat(run("ints", x)).isEqualTo(Value.ints(6));
    }

    @Test
    void aComprehensionTakesAChoiceAsItsElement() throws Exception {
        Value words = new Value.Dict(Map.of(Value.of("a"), Value.of(3)));
        Value found = new Value.Items(List.of(Value.of(3), Value.NONE));

        assertThat(run("chosen", words, List.of("a", "b")))
                .isEqualTo(new Value.Tuple(List.of(found, Value.ints(1, 0))));
        assertThat(run("by_key", List.of("b", "a")))
                .isEqualTo(new Value.Dict(Map.of(Value.of("b"), Value.of(0), Value.of("a"), Value.of(1))));
    }
}
