package io.waybill.script;

import static io.waybill.script.Calls.elements;
import static io.waybill.script.Calls.tensor;
import static io.waybill.script.DirectStorage.floats;
import static io.waybill.script.DirectStorage.longs;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.waybill.api.Value;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Tensor;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Operators with several results: a tuple, in the schema's order. The expected numbers were computed with numpy. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class SeveralResultsTest {

    private static final Calls CALLS = new Calls();

    private final Tensor a = floats(new long[] {2, 3}, 3, 1, 2, 5, 6, 4);

    private static List<Value> tuple(Value result) {
        assertThat(result).isInstanceOf(Value.Tuple.class);
        return ((Value.Tuple) result).values();
    }

    private static void assertElements(List<Value> results, double[]... expected) {
        assertThat(results).hasSize(expected.length);
        for (int i = 0; i < expected.length; i++) {
            assertThat(elements(results.get(i))).as("result " + i).containsExactly(expected[i], within(1e-5));
        }
    }

    private static double[] of(double... elements) {
        return elements;
    }

    @Test
    void respondsWithValuesAndIndices() {
        List<Value> max = tuple(CALLS.call("aten::max.dim", a, 1));
        assertElements(max, of(3, 6), of(0, 1));
        assertThat(tensor(max.get(0)).dtype()).isEqualTo(DType.FLOAT32);
        assertThat(tensor(max.get(1)).dtype()).isEqualTo(DType.INT64);
        assertElements(tuple(CALLS.call("aten::max", a, 0)), of(5, 6, 4), of(1, 1, 1));
        assertElements(tuple(CALLS.call("aten::min", Map.of("dim", 1, "keepdim", true), a)), of(1, 4), of(1, 2));
        assertElements(tuple(CALLS.call("torch.ops.aten.sort", a)), of(1, 2, 3, 4, 5, 6), of(1, 2, 0, 2, 0, 1));
        assertElements(tuple(CALLS.call("aten::topk", a, 2)), of(3, 2, 6, 5), of(0, 2, 1, 0));
        assertElements(tuple(CALLS.call("aten::kthvalue", a, 2)), of(2, 5), of(2, 0));
    }

    @Test
    void respondsWithMoreThanTwo() {
        Tensor repeated = longs(new long[] {5}, 4, 2, 4, 2, 2);
        List<Value> unique = tuple(CALLS.call("aten::_unique2", repeated, true, true, true));
        assertElements(unique, of(2, 4), of(1, 0, 1, 0, 0), of(3, 2));

        Tensor diagonal = floats(new long[] {2, 2}, 3, 0, 0, 2);
        List<Value> svd = tuple(CALLS.call("aten::linalg_svd", diagonal));
        assertThat(svd).hasSize(3);
        assertThat(elements(svd.get(1))).containsExactly(of(3, 2), within(1e-5));
    }

    @Test
    void respondsWithOtherKindsThanTensors() {
        assertThat(CALLS.call("aten::divmod", 7, 2)).isEqualTo(new Value.Tuple(List.of(Value.of(3), Value.of(1))));
        assertThat(CALLS.call("aten::frexp", 6.0)).isEqualTo(new Value.Tuple(List.of(Value.of(0.75), Value.of(3))));
        assertThat(CALLS.call("aten::partition", "a=b", "="))
                .isEqualTo(new Value.Tuple(List.of(Value.of("a"), Value.of("="), Value.of("b"))));
    }

    @Test
    void respondsWithNoneForAResultThatWasNotAskedFor() {
        Value gradients = CALLS.call(
                "aten::native_layer_norm_backward",
                a,
                a,
                List.of(3),
                floats(new long[] {2, 1}, 2, 5),
                floats(new long[] {2, 1}, 1, 1),
                floats(new long[] {3}, 1, 1, 1),
                null,
                List.of(false, true, false));
        List<Value> results = tuple(gradients);
        assertThat(results).hasSize(3);
        assertThat(results.get(0)).isEqualTo(Value.NONE);
        assertThat(tensor(results.get(1)).elementCount()).isEqualTo(3);
        assertThat(results.get(2)).isEqualTo(Value.NONE);
    }

    @Test
    void respondsWithTheArgumentsThatItWroteTo() {
        Tensor values = floats(new long[] {2}, 0, 0);
        Tensor indices = longs(new long[] {2}, 0, 0);

        Value result = CALLS.call("aten::max.dim_max", Map.of("max", values, "max_values", indices), a, 1);

        assertElements(tuple(result), of(3, 6), of(0, 1));
        assertThat(tensor(tuple(result).get(0)).storage()).isSameAs(values.storage());
        assertThat(tensor(tuple(result).get(1)).storage()).isSameAs(indices.storage());
    }
}
