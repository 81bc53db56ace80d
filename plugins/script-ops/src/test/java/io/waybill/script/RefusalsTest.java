package io.waybill.script;

import static io.waybill.script.DirectStorage.floats;
import static io.waybill.script.DirectStorage.longs;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Tensor;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is refused, with which code and which words. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class RefusalsTest {

    private static final Calls CALLS = new Calls();

    private final Tensor a = floats(new long[] {2, 3}, 1, 2, 3, 4, 5, 6);

    private static RejectedMessageException refusal(String name, Map<String, Object> named, Object... positional) {
        RejectedMessageException refusal =
                catchThrowableOfType(RejectedMessageException.class, () -> CALLS.callOrRefuse(name, named, positional));
        assertThat(refusal).as("a refusal of " + name).isNotNull();
        return refusal;
    }

    @Test
    void namesTheNearestOperatorsWhenThereIsNoneOfTheName() {
        RejectedMessageException refusal = refusal("aten::matmull", Map.of(), a);

        assertThat(refusal.code()).isEqualTo(ErrorCode.UNKNOWN_OPERATION);
        assertThat(refusal)
                .hasMessageStartingWith(
                        "libtorch has no operator aten::matmull; the nearest names are" + " aten::matmul, ");
    }

    @Test
    void saysHowOperatorsAreNamed() {
        for (String name : List.of("add", "aten:add", "torch.ops.aten", "aten::add.Tensor.x", "aten::", "a b::c")) {
            RejectedMessageException refusal = refusal(name, Map.of(), a);
            assertThat(refusal.code()).isEqualTo(ErrorCode.UNKNOWN_OPERATION);
            assertThat(refusal).hasMessageContaining("aten::add.Tensor").hasMessageContaining(name);
        }
    }

    @Test
    void namesTheOverloadsThereAre() {
        RejectedMessageException refusal = refusal("aten::add.Tensors", Map.of(), a, a);

        assertThat(refusal.code()).isEqualTo(ErrorCode.UNKNOWN_OPERATION);
        assertThat(refusal).hasMessageStartingWith("aten::add has no overload Tensors; it has Tensor, Scalar, ");
    }

    @Test
    void saysWhyNoSchemaFits() {
        RejectedMessageException refusal = refusal("aten::mm", Map.of("beta", 1), a, "b");

        assertThat(refusal.code()).isEqualTo(ErrorCode.NO_MATCHING_SCHEMA);
        assertThat(refusal)
                .hasMessageStartingWith("no schema of aten::mm takes (Tensor, str, beta=int):")
                .hasMessageContaining("aten::mm(Tensor self, Tensor mat2) -> Tensor\n"
                        + "    argument 'mat2' must be Tensor, not str")
                .hasMessageContaining("aten::mm.out(");
        assertThat(refusal("aten::mm", Map.of(), a)).hasMessageContaining("argument 'mat2' (Tensor) is missing");
        assertThat(refusal("aten::mm.default", Map.of(), a, a, a))
                .hasMessageContaining("takes at most 2 positional arguments, got 3");
        assertThat(refusal("aten::mm.default", Map.of("x", 1), a, a)).hasMessageContaining("has no argument named 'x'");
        assertThat(refusal("aten::mm.default", Map.of("self", a), a, a))
                .hasMessageContaining("argument 'self' is given twice");
        assertThat(refusal("aten::sum.dim_IntList", Map.of(), a, List.of(1, 0.5)))
                .hasMessageContaining("argument 'dim' must be int[1]?, not list of 2 int/float");
        assertThat(refusal("aten::zeros.default", Map.of("dtype", "float32"), List.of(1)))
                .hasMessageContaining("argument 'dtype' must be ScalarType?, not str");
        assertThat(refusal("aten::relu.default", Map.of(), new Object[] {null}))
                .hasMessageContaining("argument 'self' must be Tensor, not None");
    }

    @Test
    void reportsLibtorchsTextWithoutItsStack() {
        RejectedMessageException refusal = refusal("aten::mm", Map.of(), a, a);

        assertThat(refusal.code()).isEqualTo(ErrorCode.REFUSED);
        assertThat(refusal).hasMessage("mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)");
        assertThat(refusal("aten::add", Map.of(), a, floats(new long[] {2}, 1, 2)))
                .hasMessage(
                        "The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 1");
    }

    @Test
    void refusesWhatHasNoResult() {
        RejectedMessageException none = refusal("aten::backward", Map.of(), a);

        assertThat(none.code()).isEqualTo(ErrorCode.REFUSED);
        assertThat(none)
                .hasMessage("Return value of a builtin operator or a TorchScript function should be a single IValue,"
                        + " got a vector of size 0");
    }

    @Test
    void namesWhatDoesNotTravelBack() {
        assertThat(refusal("aten::zeros", Map.of("device", "meta"), List.of(2)))
                .hasMessageContaining("the device meta");
        assertThat(refusal("aten::_reshape_alias", Map.of(), a, List.of(3, 3), List.of(3, 1)))
                .hasMessageContaining("must lie inside its storage of 24 bytes");
        assertThat(refusal("aten::quantize_per_tensor", Map.of(), a, 0.1, 0, Value.of(12L)))
                .hasMessageContaining("elements of the type QInt8");
    }

    @Test
    void refusesTensorsThatLibtorchCannotTakeFromHere() {
        Tensor elsewhere =
                Tensor.contiguous(DType.FLOAT32, new long[] {1}, new DirectStorage(4, Device.parse("cuda:1")));
        RejectedMessageException refusal = refusal("aten::relu", Map.of(), elsewhere);
        assertThat(refusal.code()).isEqualTo(ErrorCode.DEVICE_UNAVAILABLE);
        assertThat(refusal).hasMessageContaining("cuda:1").hasMessageContaining("this libtorch has no CUDA");

        Tensor backwards = new Tensor(DType.FLOAT32, new long[] {3}, new long[] {-1}, 2, false, a.storage());
        assertThat(refusal("aten::relu", Map.of(), backwards)).hasMessageContaining("no negative strides");

        Tensor integers = new Tensor(
                DType.INT64,
                new long[] {1},
                new long[] {1},
                0,
                true,
                longs(new long[] {1}, 1).storage());
        assertThat(refusal("aten::neg", Map.of(), integers)).hasMessageContaining("floating point");
    }

    @Test
    void saysWhenThereIsNoMemory() {
        RejectedMessageException refusal = refusal("aten::zeros", Map.of(), List.of(1 << 30, 1 << 20));

        assertThat(refusal.code()).isEqualTo(ErrorCode.DEVICE_FULL);
        assertThat(refusal).hasMessageContaining("DefaultCPUAllocator");
    }

    @Test
    void keepsTheInterpretersInstructionsOut() {
        assertThat(refusal("prim::Uninitialized", Map.of()).code()).isEqualTo(ErrorCode.UNKNOWN_OPERATION);
        assertThat(refusal("aten::format", Map.of(), "{}").code()).isEqualTo(ErrorCode.UNKNOWN_OPERATION);
    }

    @Test
    void remembersOperatorsAndNotWhatIsUnknown() throws RejectedMessageException {
        Operators operators = new Operators(OperatorPolicy.standard());
        for (int i = 0; i < 100; i++) {
            int n = i;
            catchThrowableOfType(RejectedMessageException.class, () -> operators.find("aten::unknown_" + n));
        }

        assertThat(operators.find("aten::add")).isSameAs(operators.find("aten::add"));
        assertThat(operators.rememberedCount()).isEqualTo(1);
        assertThat(operators.size()).isGreaterThan(1000);
    }
}
