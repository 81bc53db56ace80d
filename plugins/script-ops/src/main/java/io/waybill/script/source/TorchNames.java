package io.waybill.script.source;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Translation of the names of PyTorch's and Python's modules to libtorch's operators, types and constants, like
 * PyTorch's front end. Some functions of PyTorch are Python; the bundle has TorchScript functions for these.
 *
 * <p><b>Threads.</b> Any.
 */
final class TorchNames {

    /** Namespace of the bundle's own functions. */
    static final String OWN = "__torch__.__waybill__";

    /** The bundle's files with functions, by the module of PyTorch that they replace. */
    private static final Map<String, String> OWN_FILES = Map.of(
            "torch.nn.functional", "functional", "torch", "tensors", "torch.autograd", "grad", "math", "numbers");

    private static final Pattern DEFINITION = Pattern.compile("^(?:def|class) (\\w+)", Pattern.MULTILINE);
    private static final Map<String, String> NAMES = new HashMap<>();
    /** Operators of {@code math}; others of the same name take tensors only. */
    private static final Set<String> MATH = Set.of(
            "acos",
            "acosh",
            "asin",
            "asinh",
            "atan",
            "atan2",
            "atanh",
            "ceil",
            "copysign",
            "cos",
            "cosh",
            "degrees",
            "erf",
            "erfc",
            "exp",
            "expm1",
            "fabs",
            "factorial",
            "floor",
            "fmod",
            "frexp",
            "gamma",
            "gcd",
            "isfinite",
            "isinf",
            "isnan",
            "ldexp",
            "lgamma",
            "log",
            "log10",
            "log1p",
            "log2",
            "modf",
            "pow",
            "radians",
            "sin",
            "sinh",
            "sqrt",
            "tan",
            "tanh");

    /** Functions of {@code torch.nn.functional} that are operators with the same parameters. */
    private static final Set<String> OPERATORS = Set.of(
            "adaptive_avg_pool1d",
            "adaptive_avg_pool2d",
            "adaptive_avg_pool3d",
            "avg_pool1d",
            "avg_pool2d",
            "avg_pool3d",
            "bilinear",
            "celu_",
            "channel_shuffle",
            "conv1d",
            "conv2d",
            "conv3d",
            "conv_tbc",
            "conv_transpose1d",
            "conv_transpose2d",
            "conv_transpose3d",
            "cosine_similarity",
            "elu_",
            "gelu",
            "glu",
            "hardshrink",
            "hardtanh_",
            "leaky_relu_",
            "linear",
            "max_pool1d",
            "max_pool2d",
            "max_pool3d",
            "one_hot",
            "pad",
            "pairwise_distance",
            "pdist",
            "pixel_shuffle",
            "pixel_unshuffle",
            "prelu",
            "relu_",
            "rrelu_",
            "scaled_dot_product_attention",
            "selu_",
            "sigmoid",
            "softplus",
            "softshrink",
            "tanh",
            "threshold_");

    /** Function whose argument Python pads; the operator of the same name does not, and has other parameters. */
    private static final String PADDED = "stft";

    private static final Set<String> TYPES =
            Set.of("Any", "Dict", "Final", "Future", "List", "NamedTuple", "Optional", "Tuple", "Union");
    /** Modules of PyTorch whose operators have its name as a prefix. */
    private static final Set<String> PREFIXED = Set.of("linalg", "fft", "special");

    static {
        List<String> dtypes = List.of(
                "uint8",
                "int8",
                "int16",
                "int32",
                "int64",
                "float16",
                "float32",
                "float64",
                "complex32",
                "complex64",
                "complex128",
                "bool",
                "qint8",
                "quint8",
                "qint32",
                "bfloat16");
        for (int code = 0; code < dtypes.size(); code++) {
            NAMES.put("torch." + dtypes.get(code), Integer.toString(code));
        }
        Map.of(
                        "short", 2, "int", 3, "long", 4, "half", 5, "float", 6, "double", 7, "chalf", 8, "cfloat", 9,
                        "cdouble", 10)
                .forEach((name, code) -> NAMES.put("torch." + name, code.toString()));
        Map.of("strided", 0, "sparse_coo", 1, "sparse_csr", 2, "contiguous_format", 0, "preserve_format", 1)
                .forEach((name, code) -> NAMES.put("torch." + name, code.toString()));
        NAMES.put("torch.channels_last", "2");
        NAMES.put("torch.channels_last_3d", "3");
        for (String module : List.of("math", "torch")) {
            NAMES.put(module + ".pi", Double.toString(Math.PI));
            NAMES.put(module + ".e", Double.toString(Math.E));
            NAMES.put(module + ".inf", "inf");
            NAMES.put(module + ".nan", "nan");
        }
        NAMES.put("math.tau", Double.toString(2 * Math.PI));
        NAMES.put("math.remainder", "torch.mathremainder");
        for (String kind : List.of("", "Float", "Double", "Half", "Long", "Int", "Short", "Char", "Byte", "Bool")) {
            NAMES.put("torch." + kind + "Tensor", "Tensor");
        }
        NAMES.put("torch.dtype", "int");
        NAMES.put("torch.layout", "int");
        NAMES.put("torch.memory_format", "int");
        NAMES.put("torch.Size", "List[int]");
        NAMES.put("torch.Generator", "Generator");
        NAMES.put("torch.jit.Future", "Future");
        NAMES.put("torch.futures.Future", "Future");
        NAMES.put("torch.jit.fork", "fork");
        NAMES.put("torch.jit.wait", "torch.wait");
        NAMES.put("torch.jit.annotate", "annotate");
        NAMES.put("torch.jit.isinstance", "isinstance");
        NAMES.put("torch.jit.is_scripting", "torch.is_scripting");
        NAMES.put("torch.jit.Final", "Final");
        NAMES.put("torch.no_grad", OWN + ".grad.no_grad");
        NAMES.put("torch.enable_grad", OWN + ".grad.enable_grad");
        NAMES.put("torch.autograd.no_grad", OWN + ".grad.no_grad");
        NAMES.put("torch.autograd.enable_grad", OWN + ".grad.enable_grad");
        NAMES.put("torch.distributed.rpc.RRef", "RRef");
        NAMES.put("torch.nn.functional.logsigmoid", "torch.log_sigmoid");
        NAMES.put("warnings.warn", "torch.warn");
        NAMES.put("enum.Enum", "Enum");
        OWN_FILES.forEach(TorchNames::readOwn);
    }

    private TorchNames() {}

    private static void readOwn(String module, String file) {
        Matcher definition = DEFINITION.matcher(ownText(file));
        while (definition.find()) {
            NAMES.put(module + "." + definition.group(1), OWN + "." + file + "." + definition.group(1));
        }
    }

    /** Returns the bundle's files, as paths below the namespace of all code. */
    static Map<String, String> ownFiles() {
        Map<String, String> files = new HashMap<>();
        for (String file : new HashSet<>(OWN_FILES.values())) {
            files.put("__waybill__/" + file + ".py", ownText(file));
        }
        return files;
    }

    private static String ownText(String file) {
        try (InputStream in = TorchNames.class.getResourceAsStream(file + ".py")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Returns libtorch's name for a name; empty if it has none.
     *
     * @param name with its module, such as {@code torch.nn.functional.relu}
     * @param isCalled whether brackets follow
     */
    static Optional<String> of(String name, boolean isCalled) {
        if (name.equals("torch.device")) {
            return Optional.of(isCalled ? "torch.device" : "Device");
        }
        String known = NAMES.get(name);
        if (known != null) {
            return Optional.of(known);
        }
        int dot = name.lastIndexOf('.');
        String module = dot < 0 ? "" : name.substring(0, dot);
        String last = name.substring(dot + 1);
        return switch (module) {
            case "typing" -> TYPES.contains(last) ? Optional.of(last) : Optional.empty();
            case "math" -> MATH.contains(last) ? Optional.of("torch." + last) : Optional.empty();
            case "torch" -> isModule(last) || last.equals(PADDED) ? Optional.empty() : Optional.of("torch." + last);
            case "torch.nn.functional" -> OPERATORS.contains(last) ? Optional.of("torch." + last) : Optional.empty();
            case "torch.functional" -> of("torch." + last, isCalled);
            case "torch.autograd" -> Optional.of("torch.autograd." + last);
            default -> ofSubmodule(module, last);
        };
    }

    private static Optional<String> ofSubmodule(String module, String last) {
        if (module.startsWith("torch.ops.")) {
            return Optional.of(module.substring("torch.".length()) + "." + last);
        } else if (module.startsWith("torch.") && PREFIXED.contains(module.substring("torch.".length()))) {
            return Optional.of("torch." + module.substring("torch.".length()) + "_" + last);
        }
        return Optional.empty();
    }

    private static boolean isModule(String last) {
        return PREFIXED.contains(last)
                || Set.of(
                                "nn",
                                "jit",
                                "ops",
                                "functional",
                                "autograd",
                                "distributed",
                                "futures",
                                "utils",
                                "cuda",
                                "_C",
                                "_VF",
                                "optim",
                                "classes",
                                "backends",
                                "random",
                                "testing",
                                "version")
                        .contains(last);
    }
}
