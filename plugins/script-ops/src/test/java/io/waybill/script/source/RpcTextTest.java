package io.waybill.script.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.waybill.script.source.RpcText.Prepared;
import io.waybill.script.source.RpcText.Target;
import io.waybill.script.source.RpcText.Way;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How the text of a source is prepared for libtorch, where it calls other workers. */
@Timeout(value = 1, unit = TimeUnit.MINUTES)
class RpcTextTest {

    private static final String F = "def f(x: int) -> int:\n    return x\n\n";

    private static Prepared prepared(String text) throws ScriptRefusedException {
        return RpcText.of(text, (function, rest) -> "Inferred");
    }

    private static String problem(String text) {
        ScriptRefusedException refusal = catchThrowableOfType(ScriptRefusedException.class, () -> prepared(text));
        assertThat(refusal).as("a refusal").isNotNull();
        return refusal.getMessage();
    }

    @Test
    void leavesTextsWithoutCallsAlone() {
        assertThat(RpcText.isNeeded(F)).isFalse();
        assertThat(RpcText.isNeeded(F + "# rpc.rpc_sync(to, f)\n")).isFalse();
        assertThat(RpcText.isNeeded("def g():\n    return 'rpc.rpc_sync(to, f)'\n"))
                .isFalse();
        assertThat(RpcText.isNeeded("def g(x):\n    return x.rpc.rpc_sync(1)\n"))
                .isFalse();
        assertThat(RpcText.isNeeded("def g(x: RRef[int]):\n    return 1\n")).isTrue();
    }

    @Test
    void rewritesCallsAndKeepsTheLines() throws Exception {
        Prepared prepared = prepared(F + """
                def g(to: str):
                    a = rpc.rpc_sync(  # one, two
                        "w, (1)", f,
                        kwargs={"x": rpc.rpc_sync(to, f, (1,))},
                        args=(),
                    )
                    return rpc.rpc_async(timeout=3, func=f, to=to)
                """);
        assertThat(prepared.targets()).containsExactly(new Target(Way.RPC_SYNC, "f"), new Target(Way.RPC_ASYNC, "f"));
        String[] lines = prepared.text().split("\n");
        assertThat(lines[3]).isEqualTo("def g(to: str):");
        assertThat(prepared.text()).contains("\"w, (1)\"").contains("{\"x\": __rpc_sync__f(to,  (1,), None, -1.0)}");
        assertThat(lines[9].strip()).startsWith("return __rpc_async__f(to, (), None, float(3)");
        assertThat(prepared.text()).contains("-> Future[int]:").contains("-> Tuple[int, bool]:");
    }

    @Test
    void asksForTheTypeThatAHeaderDoesNotName() throws Exception {
        String text = "def f(x):\n    return x\n\ndef g(to: str):\n    return rpc.remote(to, f, (1,))\n";
        Prepared prepared = RpcText.of(text, (function, rest) -> {
            assertThat(function).isEqualTo("f");
            assertThat(rest).contains("def f(x):").doesNotContain("def g");
            return "Dict[str, int]";
        });
        assertThat(prepared.text()).contains("-> Future[Dict[str, int]]:");
    }

    @Test
    void knowsReferencesAsFutures() throws Exception {
        Prepared prepared =
                prepared("def g(r: rpc.RRef[int], s: List[RRef[int]]):\n    return r.to_here() + s[0] . to_here()\n");
        assertThat(prepared.text())
                .startsWith("def g(r: Future[int], s: List[Future[int]]):\n    return r.wait() + s[0] .wait()\n");
    }

    @Test
    void callsMethodsOfReferencesWithWhatStandsBeforeThem() throws Exception {
        String body =
                "    return not f(r)[0] . is_owner(), (a.b[1](2)).confirmed_by_owner(), x + r.to_here(timeout=s.to_here())"
                        + ", r.local_value()\n";
        Prepared prepared = prepared("def g(r: RRef[int]):\n" + body);
        assertThat(prepared.text().split("\n")[1])
                .isEqualTo("    return not __is_owner(f(r)[0] ), __confirmed_by_owner((a.b[1](2))),"
                        + " x + (r, __to_here_within(float(s.wait())))[0].wait(), (r, __local_value())[0].wait()");
        assertThat(prepared.intrinsics())
                .containsExactly(
                        Intrinsic.IS_OWNER,
                        Intrinsic.CONFIRMED_BY_OWNER,
                        Intrinsic.TO_HERE_WITHIN,
                        Intrinsic.LOCAL_VALUE);
        assertThat(prepared("def g(r: RRef[int]):\n    return 'r.is_owner()'  # r.is_owner()\n")
                        .intrinsics())
                .isEmpty();
    }

    @Test
    void callsPassesAsFunctions() throws Exception {
        String text = "import torch.distributed.autograd as dist_autograd\n\ndef g(c: int, x: Tensor):\n"
                + "    dist_autograd.backward(c, [x], True)\n    return torch.distributed.autograd.get_gradients(c)\n";
        assertThat(RpcText.isNeeded(text)).isTrue();
        assertThat(RpcText.isNeeded("def g(a):\n    return a.dist_autograd.backward(1)\n"))
                .isFalse();
        Prepared prepared = prepared(text);
        assertThat(prepared.text())
                .startsWith(
                        "\n\ndef g(c: int, x: Tensor):\n    __backward(c, [x], True)\n    return __get_gradients(c)\n");
    }

    @Test
    void dissolvesScopesOfTheProfiler() throws Exception {
        String text = """
                from torch.autograd.profiler import record_function

                def f(x, name: str):
                    with record_function(name) as scope:
                        a = \"\"\"
                with record_function(a):
                \"\"\"
                        with torch.autograd.profiler.record_function("inner"):
                            if len(a) > 3:
                                return x, (
                                    a)
                            a = "b"

                    return x
                """;
        assertThat(RpcText.isNeeded(text)).isTrue();
        assertThat(prepared(text).text()).startsWith("""


                def f(x, name: str):
                    __record_function(name)
                    a = \"\"\"
                with record_function(a):
                \"\"\"
                    __record_function("inner")
                    if len(a) > 3:
                        return ((((x, (
                                    a)), __record_function_exit())[0]), __record_function_exit())[0]
                    a = "b"
                    __record_function_exit()
                    __record_function_exit()
                    return x
                """);
        assertThat(problem("def f(x):\n    for i in x:\n        with record_function('a'):\n            break\n"))
                .startsWith("line 3: break and continue can't leave a scope");
    }

    @Test
    void saysWhatIsWrongWithACall() {
        String g = F + "def g(to: str):\n    return ";
        assertThat(problem(g + "rpc.rpc_sync(to, other)\n"))
                .isEqualTo("line 5: rpc.rpc_sync calls a function of this file by its name, and other is none");
        assertThat(problem(g + "rpc.rpc_async(to)\n")).endsWith("and none is given");
        assertThat(problem(g + "rpc.remote(func=f)\n")).isEqualTo("line 5: rpc.remote lacks the name of the worker");
        assertThat(problem(g + "rpc.rpc_sync(to, f, (), {}, 1, 2)\n"))
                .isEqualTo(
                        "line 5: rpc.rpc_sync takes (to, func, args, kwargs, timeout), each once, and not 'one more'");
        assertThat(problem(g + "rpc.rpc_sync(to, f, arguments=())\n")).endsWith("and not 'arguments'");
        assertThat(problem(g + "rpc.rpc_sync(to, f, to=to)\n")).endsWith("and not 'to'");
    }

    /** What does not close is libtorch's to refuse; nothing may hang or fall over it. */
    @Test
    void passesOnWhatItCannotRead() throws Exception {
        for (String text :
                new String[] {"rpc.rpc_sync(", "def g(:\n rpc.remote('", "def", "rpc.rpc_sync(a, \"\"\" b", "RRef["}) {
            assertThat(prepared(F + text).text()).startsWith(F);
        }
    }
}
