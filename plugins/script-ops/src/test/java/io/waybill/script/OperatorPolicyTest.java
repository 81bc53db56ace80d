package io.waybill.script;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.torch.LibTorch;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.OperatorVector;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a mere call may not do to the node. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class OperatorPolicyTest {

    private static final LibTorch LIB_TORCH = new LibTorch(Path.of(System.getProperty(LibTorch.NATIVES_PROPERTY)), 1);
    private static final Calls CALLS = new Calls();

    /** What the strings of operators that calls may run mean: modes, names of dimensions, texts. None is a file, a host, or code. */
    private static final Set<String> HARMLESS_TEXTS = Set.of(
            "_",
            "_0",
            "a",
            "activation",
            "algorithm",
            "api_name",
            "approximate",
            "assert_msg",
            "attr",
            "b",
            "binary_attr",
            "binary_post_op",
            "chars",
            "default_value",
            "device_type",
            "dim",
            "dim2",
            "dim1",
            "dim0",
            "dims",
            "driver",
            "el",
            "end_dim",
            "equation",
            "fillchar",
            "idx",
            "indexing",
            "input",
            "interpolation",
            "item",
            "key",
            "l",
            "mode",
            "names",
            "new",
            "norm",
            "old",
            "ord",
            "order",
            "out_dim",
            "outdim",
            "p",
            "pad_mode",
            "padding",
            "padding_side",
            "post_op_algorithm",
            "post_op_name",
            "reduce",
            "rounding_mode",
            "s",
            "self",
            "separator",
            "side",
            "start_dim",
            "string",
            "substr",
            "t",
            "type",
            "unary_algorithm",
            "unary_attr",
            "unary_post_op",
            "unary_post_op_algorithm",
            "UPLO",
            "values",
            "v");

    private static final Pattern TEXT = Pattern.compile("\\bstr(?:\\[\\]|\\?|\\([a-z -> *]+\\))* (\\w+)");

    /** What a schema with random numbers has in its name or parameters. */
    private static final Pattern RANDOM =
            Pattern.compile("::\\w*rand|dropout|\\bseed\\b|Generator|::\\w*(bernoulli|normal_|uniform_|multinomial)");

    /** Gradients, operators whose random numbers are an argument, and what reads or makes a generator. */
    private static final Set<String> DRAWING_NOTHING = Set.of(
            "aten::Generator",
            "aten::_cudnn_rnn_backward",
            "aten::_efficient_attention_backward",
            "aten::_flash_attention_backward",
            "aten::_scaled_dot_product_flash_attention_backward",
            "aten::_scaled_dot_product_flash_attention_for_cpu_backward",
            "aten::_scaled_dot_product_fused_attention_overrideable_backward",
            "aten::initial_seed",
            "aten::lstm_mps_backward",
            "aten::miopen_rnn_backward",
            "aten::native_dropout_backward",
            "aten::seed");

    /** Results of an operator that has several. */
    private static final Pattern RESULTS = Pattern.compile(
            "\\((?:(?:Tensor|int|SymInt|float|str)(?:\\([a-z]!?\\))?(?:\\[\\])?\\??(?: \\w+)?(?:, |\\)))+");

    @TempDir
    private Path directory;

    private static RejectedMessageException refusal(String name, Object... positional) {
        RejectedMessageException refusal = catchThrowableOfType(
                RejectedMessageException.class, () -> CALLS.callOrRefuse(name, Map.of(), positional));
        assertThat(refusal).as("a refusal of " + name).isNotNull();
        return refusal;
    }

    @Test
    void makesNoFileOnTheNodeForACall() {
        Path file = directory.resolve("made");
        RejectedMessageException refusal = null;
        for (String name : List.of(
                "aten::from_file",
                "torch.ops.aten.from_file",
                "torch.ops.aten.from_file.default",
                "aten::from_file.out")) {
            refusal = refusal(name, file.toString(), true, 4);
            assertThat(file).as("a file that " + name + " made").doesNotExist();
            assertThat(refusal.code()).isEqualTo(ErrorCode.REFUSED);
        }
        assertThat(refusal)
                .hasMessage(
                        "aten::from_file is not run for calls: it opens, creates or changes files of the node; to allow it,"
                                + " name it in operators.allow in conf/io.waybill.script.ScriptEngine.cfg of the node");
        assertThat(refusal("aten::save", "x", file.toString())).hasMessageContaining("changes files");
        assertThat(file).doesNotExist();
    }

    @Test
    void runsWhatTheConfigurationNamesAndNothingElse() throws Exception {
        Path file = Files.write(directory.resolve("there"), new byte[16]);
        Calls allowing = new Calls(OperatorPolicy.allowing(" aten::from_file, profiler::*"));

        Value read = allowing.call("aten::from_file", file.toString(), false, 4);
        assertThat(Calls.elements(read)).containsExactly(0, 0, 0, 0);
        assertThat(refusal("aten::from_file", file.toString(), false, 4).code()).isEqualTo(ErrorCode.REFUSED);
        RejectedMessageException other = catchThrowableOfType(
                RejectedMessageException.class,
                () -> allowing.callOrRefuse(
                        "aten::save", Map.of(), "x", directory.resolve("x").toString()));
        assertThat(other).hasMessageContaining("aten::save is not run for calls");
    }

    /** The settings of a component, as OSGi gives them. */
    private static ScriptEngine.Config settings(String allowed) {
        return (ScriptEngine.Config) Proxy.newProxyInstance(
                ScriptEngine.Config.class.getClassLoader(),
                new Class<?>[] {ScriptEngine.Config.class},
                (self, method, arguments) -> allowed);
    }

    @Test
    void takesAnotherConfigurationWhileItRuns() throws Exception {
        String file = Files.write(directory.resolve("there"), new byte[16]).toString();
        Calls calls = new Calls(OperatorPolicy.standard());
        RejectedMessageException before = catchThrowableOfType(
                RejectedMessageException.class, () -> calls.callOrRefuse("aten::from_file", Map.of(), file, false, 4));
        assertThat(before.code()).isEqualTo(ErrorCode.REFUSED);

        calls.engine.change(settings("aten::from_file"));
        assertThat(Calls.elements(calls.call("aten::from_file", file, false, 4)))
                .containsExactly(0, 0, 0, 0);
        for (String less : List.of("", "no operator")) {
            calls.engine.change(settings("aten::from_file"));
            calls.call("aten::from_file", file, false, 4);
            calls.engine.change(settings(less));
            RejectedMessageException after = catchThrowableOfType(
                    RejectedMessageException.class,
                    () -> calls.callOrRefuse("aten::from_file", Map.of(), file, false, 4));
            assertThat(after.code()).as("what was found before").isEqualTo(ErrorCode.REFUSED);
            calls.call("aten::ones", Value.ints(1));
        }
    }

    @Test
    void refusesTheNetworkTheProcessAndWhatIsNotLibtorchs() {
        for (String name : List.of(
                "c10d::barrier",
                "_c10d_functional::all_reduce",
                "symm_mem::one_shot_all_reduce",
                "_dtensor::shard_dim_alltoall",
                "profiler::_record_function_enter",
                "inductor::_reinterpret_tensor",
                "static_runtime::create_owned_ref",
                "_quantized::linear_prepack_legacy",
                "aten::set_grad_enabled",
                "aten::warn")) {
            assertThat(refusal(name)).as(name).hasMessageContaining(name + " is not run for calls: it ");
        }
        assertThat(OperatorPolicy.reach("acme::upload")).contains("may do anything");
    }

    @Test
    void saysWhatItCannotReadInTheSetting() {
        for (String wrong : List.of("from_file", "aten::from_file.out", "aten::from_file aten::save", "*")) {
            assertThatThrownBy(() -> OperatorPolicy.allowing(wrong))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageStartingWith("operators are named in operators.allow in conf/")
                    .hasMessageEndingWith("not " + wrong);
        }
        for (String needless : List.of("aten::add", "aten::*")) {
            assertThatThrownBy(() -> OperatorPolicy.allowing(needless))
                    .hasMessageStartingWith(needless + " needs not be named")
                    .hasMessageContaining("aten::from_file");
        }
    }

    /** Fails for what a newer libtorch brings: look at what it does, and put it into this list or into the policy's. */
    @Test
    @SuppressWarnings("try")
    void knowsEveryOperatorThatTakesATextOrComesFromElsewhere() {
        LIB_TORCH.load();
        Set<String> unknown = new TreeSet<>();
        int seen = 0;
        try (PointerScope scope = new PointerScope()) {
            OperatorVector all = torch.getAllOperators();
            for (long i = 0; i < all.size(); i++) {
                String name = all.get(i).schema().name().getString();
                if (name.startsWith("prim::")) {
                    continue;
                }
                seen++;
                String reach = OperatorPolicy.reach(name);
                if (reach != null) {
                    if (reach.contains("may do anything")) {
                        unknown.add(name + " is of a namespace that nobody has looked at");
                    }
                    continue;
                }
                Matcher text = TEXT.matcher(torch.toString(all.get(i).schema()).getString());
                while (text.find()) {
                    if (!HARMLESS_TEXTS.contains(text.group(1))) {
                        unknown.add(name + " takes a text '" + text.group(1) + "' that nobody has looked at");
                    }
                }
            }
        }
        assertThat(seen).isGreaterThan(3_000);
        assertThat(unknown).isEmpty();
    }

    /** Fails for what a newer libtorch brings: an operator that seems to draw random numbers without a seed of its call. */
    @Test
    @SuppressWarnings("try")
    void knowsEveryOperatorThatDrawsRandomNumbers() {
        LIB_TORCH.load();
        Set<String> unknown = new TreeSet<>();
        Set<String> untagged = new TreeSet<>();
        int random = 0;
        try (PointerScope scope = new PointerScope()) {
            OperatorVector all = torch.getAllOperators();
            for (long i = 0; i < all.size(); i++) {
                String name = all.get(i).schema().name().getString();
                if (name.startsWith("prim::") || OperatorPolicy.reach(name) != null) {
                    continue;
                }
                Overload overload = Overload.of(all.get(i));
                if (overload.isRandom()) {
                    random++;
                    if (OperatorPolicy.isUntaggedRandom(name)) {
                        untagged.add(name);
                    }
                } else if (RANDOM.matcher(overload.signature().toString()).find() && !DRAWING_NOTHING.contains(name)) {
                    unknown.add(overload.signature() + " may draw random numbers, and is in no reviewed list");
                }
            }
        }
        assertThat(random).isGreaterThan(150);
        assertThat(unknown).isEmpty();
        assertThat(untagged)
                .containsExactly(
                        "aten::manual_seed", "aten::quantized_gru", "aten::quantized_lstm", "quantized::dropout");
    }

    /** Fails for what a newer libtorch brings: an operator with several results, one of which is of a kind that does not travel. */
    @Test
    @SuppressWarnings("try")
    void knowsWhatOperatorsWithSeveralResultsReturn() {
        LIB_TORCH.load();
        Set<String> unknown = new TreeSet<>();
        int several = 0;
        try (PointerScope scope = new PointerScope()) {
            OperatorVector all = torch.getAllOperators();
            for (long i = 0; i < all.size(); i++) {
                String name = all.get(i).schema().name().getString();
                String schema = torch.toString(all.get(i).schema()).getString();
                String results = schema.substring(schema.lastIndexOf(" -> ") + 4);
                if (name.startsWith("prim::")
                        || OperatorPolicy.reach(name) != null
                        || Overload.of(all.get(i)).signature().returnCount() < 2) {
                    continue;
                }
                several++;
                if (!RESULTS.matcher(results).matches()) {
                    unknown.add(schema);
                }
            }
        }
        assertThat(several).isGreaterThan(300);
        assertThat(unknown).isEmpty();
    }
}
