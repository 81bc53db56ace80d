package io.waybill.script;

import static io.waybill.script.Calls.elements;
import static io.waybill.script.Calls.tensor;
import static io.waybill.script.DirectStorage.bools;
import static io.waybill.script.DirectStorage.floats;
import static io.waybill.script.DirectStorage.longs;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.waybill.api.Value;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Tensor;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Operators of many kinds, with arguments of every kind; the expected numbers were computed with numpy. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class OperatorsTest {

    private static final Calls CALLS = new Calls();

    private final Tensor a = floats(new long[] {2, 3}, 1, 2, 3, 4, 5, 6);
    private final Tensor b = floats(new long[] {2, 3}, 10, 20, 30, 40, 50, 60);
    private final Tensor square = floats(new long[] {2, 2}, 1, 2, 3, 4);

    private static void assertElements(Value result, double... expected) {
        double[] found = elements(result);
        assertThat(found).hasSize(expected.length);
        for (int i = 0; i < found.length; i++) {
            assertThat(found[i])
                    .as("element " + i + " of " + Arrays.toString(found))
                    .isCloseTo(expected[i], within(1e-5));
        }
    }

    private static void assertSizes(Value result, long... sizes) {
        assertThat(tensor(result).sizes()).containsExactly(sizes);
    }

    @Test
    void computesElementByElement() {
        assertElements(CALLS.call("aten::add.Tensor", a, b), 11, 22, 33, 44, 55, 66);
        assertElements(CALLS.call("aten::sub", b, a), 9, 18, 27, 36, 45, 54);
        assertElements(CALLS.call("aten::mul", a, a), 1, 4, 9, 16, 25, 36);
        assertElements(CALLS.call("aten::clamp", a, 2, 5), 2, 2, 3, 4, 5, 5);
        assertElements(CALLS.call("aten::eq", a, 3), 0, 0, 1, 0, 0, 0);
        assertElements(CALLS.call("aten::where", bools(new long[] {3}, true, false, true), a, b), 1, 20, 3, 4, 50, 6);
    }

    @Test
    void takesEveryFormOfAName() {
        for (String name :
                List.of("aten::add", "aten::add.Tensor", "torch.ops.aten.add", "torch.ops.aten.add.Tensor")) {
            assertElements(CALLS.call(name, a, b), 11, 22, 33, 44, 55, 66);
        }
        assertElements(CALLS.call("torch.ops.aten.relu.default", floats(new long[] {2}, -1, 1)), 0, 1);
    }

    @Test
    void multipliesMatrices() {
        assertElements(CALLS.call("aten::mm", square, square), 7, 10, 15, 22);
        assertElements(CALLS.call("aten::matmul", square, a), 9, 12, 15, 19, 26, 33);
        assertElements(CALLS.call("aten::einsum", "ij,jk->ik", List.of(square, a)), 9, 12, 15, 19, 26, 33);
        Tensor bias = floats(new long[] {2}, 100, 200);
        assertElements(CALLS.call("aten::linear", a, b, bias), 240, 520, 420, 970);
        assertElements(CALLS.call("aten::linear", a, b, null), 140, 320, 320, 770);
        assertElements(CALLS.call("aten::linalg_inv", square), -2, 1, 1.5, -0.5);
    }

    @Test
    void convolves() {
        Tensor image = floats(new long[] {1, 1, 3, 3}, 1, 2, 3, 4, 5, 6, 7, 8, 9);
        Tensor kernel = floats(new long[] {1, 1, 2, 2}, 1, 0, 0, 1);

        assertElements(CALLS.call("aten::conv2d", image, kernel), 6, 8, 12, 14);
        Value strided = CALLS.call("aten::conv2d", Map.of("stride", 2, "padding", List.of(1, 1)), image, kernel);
        assertElements(strided, 1, 3, 7, 14);
        assertSizes(strided, 1, 1, 2, 2);
    }

    @Test
    void reduces() {
        assertElements(CALLS.call("aten::sum", a), 21);
        assertSizes(CALLS.call("aten::sum", a));
        assertElements(CALLS.call("aten::sum", Map.of("dim", List.of(1), "keepdim", true), a), 6, 15);
        assertSizes(CALLS.call("aten::sum", Map.of("dim", 1, "keepdim", true), a), 2, 1);
        assertElements(CALLS.call("aten::sum", Map.of("dtype", DType.FLOAT64), a), 21);
        assertElements(CALLS.call("aten::mean", a, List.of(0)), 2.5, 3.5, 4.5);
        assertElements(CALLS.call("aten::any", bools(new long[] {2}, false, true)), 1);
        assertElements(CALLS.call("aten::argmax", a, 1), 2, 2);
        assertElements(CALLS.call("aten::argmax", a), 5);
        assertElements(CALLS.call("aten::softmax", floats(new long[] {2}, 0, Math.log(3)), 0), 0.25, 0.75);
    }

    @Test
    void joinsAndTakesApart() {
        assertElements(CALLS.call("aten::cat", List.of(a, b), 1), 1, 2, 3, 10, 20, 30, 4, 5, 6, 40, 50, 60);
        assertSizes(CALLS.call("aten::stack", List.of(a, b, a)), 3, 2, 3);
        Value parts = CALLS.call("aten::split", a, 2, 1);
        List<Value> values = ((Value.Items) parts).values();
        assertThat(values).hasSize(2);
        assertElements(values.get(0), 1, 2, 4, 5);
        assertElements(values.get(1), 3, 6);
        assertThat(tensor(values.get(0)).storage())
                .isSameAs(tensor(values.get(1)).storage());
    }

    @Test
    void looksAtTensorsDifferently() {
        assertElements(CALLS.call("aten::reshape", a, List.of(3, -1)), 1, 2, 3, 4, 5, 6);
        assertElements(CALLS.call("aten::transpose", a, 0, 1), 1, 4, 2, 5, 3, 6);
        assertElements(CALLS.call("aten::permute", a, List.of(1, 0)), 1, 4, 2, 5, 3, 6);
        assertElements(CALLS.call("aten::t", a), 1, 4, 2, 5, 3, 6);
    }

    @Test
    void selects() {
        assertElements(CALLS.call("aten::nonzero", floats(new long[] {3}, 0, 7, 8)), 1, 2);
        assertElements(CALLS.call("aten::index_select", a, 1, longs(new long[] {2}, 2, 0)), 3, 1, 6, 4);
        Value indices = Value.list(Value.NONE, Value.of(longs(new long[] {2}, 2, 0)));
        assertElements(CALLS.call("aten::index", a, indices), 3, 1, 6, 4);
        assertElements(CALLS.call("aten::index", a, List.of(bools(new long[] {2}, false, true))), 4, 5, 6);
        assertElements(CALLS.call("aten::slice", a, 1, null, 2), 1, 2, 4, 5);
    }

    @Test
    void makesTensorsFromNothing() {
        assertElements(CALLS.call("aten::arange", 5), 0, 1, 2, 3, 4);
        assertThat(tensor(CALLS.call("aten::arange", 5)).dtype()).isEqualTo(DType.INT64);
        assertElements(CALLS.call("aten::arange", 0.5, 3, 1), 0.5, 1.5, 2.5);
        assertElements(CALLS.call("aten::full", List.of(2), 7.5), 7.5, 7.5);
        Value zeros =
                CALLS.call("aten::zeros", Map.of("dtype", DType.INT32, "device", Value.of(Device.CPU)), List.of(2, 2));
        assertElements(zeros, 0, 0, 0, 0);
        assertThat(tensor(zeros).dtype()).isEqualTo(DType.INT32);
        assertElements(CALLS.call("aten::ones", Map.of("device", "cpu"), Value.ints(1)), 1);
        assertSizes(CALLS.call("aten::zeros", List.of(0, 3)), 0, 3);
        assertSizes(CALLS.call("aten::zeros", Value.ints()));
    }

    @Test
    void convertsElementTypes() {
        Value doubles = CALLS.call("aten::to.dtype", a, DType.FLOAT64);
        assertThat(tensor(doubles).dtype()).isEqualTo(DType.FLOAT64);
        assertElements(doubles, 1, 2, 3, 4, 5, 6);
        assertThat(tensor(CALLS.call("aten::to", a, DType.BFLOAT16)).dtype()).isEqualTo(DType.BFLOAT16);
        assertThat(CALLS.call("aten::result_type", a, longs(new long[] {1}, 1))).isEqualTo(Value.of(DType.FLOAT32));
    }

    @Test
    void respondsWithPlainValues() {
        assertThat(CALLS.call("aten::allclose", a, a)).isEqualTo(Value.of(true));
        assertThat(CALLS.call("aten::equal", a, b)).isEqualTo(Value.of(false));
        assertThat(CALLS.call("aten::numel", a)).isEqualTo(Value.of(6L));
        assertThat(CALLS.call("aten::size", a, 1)).isEqualTo(Value.of(3L));
        assertThat(CALLS.call("aten::size", a)).isEqualTo(Value.ints(2, 3));
        assertThat(CALLS.call("aten::item", floats(new long[] {}, 2.5))).isEqualTo(Value.of(2.5));
        assertThat(CALLS.call("aten::item", longs(new long[] {1}, 4))).isEqualTo(Value.of(4L));
        assertThat(CALLS.call("aten::add", 1, 2)).isEqualTo(Value.of(3L));
        assertThat(CALLS.call("aten::upper", "größe 😀")).isInstanceOf(Value.Text.class);
        assertThat(CALLS.call("aten::add", "a😀", "ß")).isEqualTo(Value.of("a😀ß"));
    }

    @Test
    void takesComplexNumbers() {
        Value twice = CALLS.call("aten::mul", new Value.Complex(1, 2), new Value.Complex(0, 1));
        assertThat(twice).isEqualTo(new Value.Complex(-2, 1));
        Value sum = CALLS.call("aten::add", a, new Value.Complex(0, 1));
        assertThat(tensor(sum).dtype()).isEqualTo(DType.COMPLEX64);
    }

    @Test
    void resolvesLazyConjugates() {
        Value complex = CALLS.call("aten::add", floats(new long[] {1}, 3), new Value.Complex(0, 4));
        Value conjugate = CALLS.call("aten::conj", complex);
        assertElements(CALLS.call("aten::imag", conjugate), -4);
        Value parts = CALLS.call("aten::view_as_real", CALLS.call("aten::resolve_conj", conjugate));
        assertElements(parts, 3, -4);
    }

    @Test
    void givesParametersTheirDefaultsAndTheirNames() {
        assertElements(CALLS.call("aten::add", Map.of("alpha", 2), a, b), 21, 42, 63, 84, 105, 126);
        assertElements(CALLS.call("aten::add", Map.of("other", b, "alpha", 0.5), a), 6, 12, 18, 24, 30, 36);
        assertElements(CALLS.call("aten::add", Map.of("self", a, "other", b)), 11, 22, 33, 44, 55, 66);
    }

    @Test
    void prefersTheOverloadThatNeedsNoConversion() {
        // add.Tensor comes first in libtorch's registry, and would take the 3 as a tensor.
        Value sum = CALLS.call("aten::add", longs(new long[] {1}, 1), 3);
        assertElements(sum, 4);
        assertThat(tensor(sum).dtype()).isEqualTo(DType.INT64);
        assertElements(CALLS.call("aten::pow", 2, floats(new long[] {2}, 2, 3)), 4, 8);
    }

    @Test
    void takesANumberForATensorWhenNothingElseFits() {
        Value sum = CALLS.call("aten::add.Tensor", longs(new long[] {1}, 1), 3);
        assertElements(sum, 4);
        assertThat(tensor(sum).dtype()).isEqualTo(DType.INT64);
        Value halves = CALLS.call("aten::add.Tensor", a, 0.5);
        assertThat(tensor(halves).dtype())
                .as("a number does not widen the type")
                .isEqualTo(DType.FLOAT32);
    }

    @Test
    void countsAndReadsListsAndDicts() {
        Value dict = dict("a", 1, "b", 2);
        assertThat(CALLS.call("aten::len", List.of(7, 8, 9))).isEqualTo(Value.of(3));
        assertThat(CALLS.call("aten::len", List.of())).isEqualTo(Value.of(0));
        assertThat(CALLS.call("aten::len", List.of("x", 1))).isEqualTo(Value.of(2));
        assertThat(CALLS.call("aten::len", List.of(a, b))).isEqualTo(Value.of(2));
        assertThat(CALLS.call("aten::len", List.of(List.of(1), List.of()))).isEqualTo(Value.of(2));
        assertThat(CALLS.call("aten::len", "abc")).isEqualTo(Value.of(3));
        assertThat(CALLS.call("aten::len", a)).isEqualTo(Value.of(2));
        assertThat(CALLS.call("aten::len", dict)).isEqualTo(Value.of(2));
        assertThat(CALLS.call("aten::len", new Value.Dict(Map.of(Value.of(1.5), Value.of("x")))))
                .isEqualTo(Value.of(1));
        assertThat(CALLS.call("aten::len", new Value.Dict(Map.of()))).isEqualTo(Value.of(0));
        assertThat(CALLS.call("aten::keys", dict)).isEqualTo(Value.list(Value.of("a"), Value.of("b")));
        assertThat(CALLS.call("aten::values", dict)).isEqualTo(Value.ints(1, 2));
        assertThat(CALLS.call("aten::__getitem__", dict, "b")).isEqualTo(Value.of(2));
        assertThat(CALLS.call("aten::get", dict, "c", 5)).isEqualTo(Value.of(5));
        assertThat(CALLS.call("aten::__contains__", dict, "c")).isEqualTo(Value.of(false));
        assertThat(CALLS.call("aten::__getitem__", List.of("x", "y"), 1)).isEqualTo(Value.of("y"));
        assertThat(CALLS.call("aten::add", List.of(1), List.of(2, 3))).isEqualTo(Value.ints(1, 2, 3));
        assertThat(CALLS.call("aten::append", List.of("x"), "y")).isEqualTo(Calls.value(List.of("x", "y")));
        assertThat(CALLS.call("aten::slice", List.of(1, 2, 3), 1)).isEqualTo(Value.ints(2, 3));
    }

    private static Value dict(Object... keysAndValues) {
        Map<Value, Value> entries = new LinkedHashMap<>();
        for (int i = 0; i < keysAndValues.length; i += 2) {
            entries.put(Calls.value(keysAndValues[i]), Calls.value(keysAndValues[i + 1]));
        }
        return new Value.Dict(entries);
    }

    @Test
    void respondsWithNoneToASeed() {
        assertThat(CALLS.call("aten::manual_seed", 0)).isEqualTo(Value.NONE);
        assertThat(CALLS.call("torch.ops.aten.manual_seed", 0)).isEqualTo(Value.NONE);
    }
}
