package io.waybill.script;

import static io.waybill.script.Calls.elements;
import static io.waybill.script.DirectStorage.floats;
import static io.waybill.script.DirectStorage.longs;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.tensor.SparseTensor;
import io.waybill.api.tensor.Tensor;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Sparse tensors as arguments and results of operators. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class SparseTest {

    private static final Calls CALLS = new Calls();

    private final Tensor positions = longs(new long[] {2, 3}, 0, 1, 1, 2, 0, 2);
    private final Tensor elements = longs(new long[] {3}, 3, 4, 5);
    private final SparseTensor sparse = new SparseTensor(positions, elements, new long[] {2, 3}, false);

    private static SparseTensor sparse(Value value) {
        return ((Value.OfSparse) value).value();
    }

    private static RejectedMessageException refusal(SparseTensor argument) {
        return catchThrowableOfType(
                RejectedMessageException.class,
                () -> CALLS.callOrRefuse("aten::to_dense", Map.of(), Value.of(argument)));
    }

    @Test
    void addsTwoOfThem() {
        SparseTensor sum = sparse(CALLS.call("aten::add", Value.of(sparse), Value.of(sparse)));

        assertThat(sum.sizes()).containsExactly(2, 3);
        assertThat(elements(CALLS.call("aten::to_dense", Value.of(sum)))).containsExactly(0, 0, 6, 8, 0, 10);
    }

    @Test
    void saysWhetherOneIsCoalesced() {
        SparseTensor coalesced = sparse(CALLS.call("aten::coalesce", Value.of(sparse)));
        assertThat(coalesced.isCoalesced()).isTrue();
        assertThat(elements(coalesced.indices())).containsExactly(0, 1, 1, 2, 0, 2);
        assertThat(CALLS.call("aten::is_coalesced", Value.of(coalesced))).isEqualTo(Value.of(true));
        assertThat(CALLS.call("aten::is_coalesced", Value.of(sparse))).isEqualTo(Value.of(false));
    }

    @Test
    void makesThemOfDenseOnesAndTheOtherWayRound() {
        Tensor dense = floats(new long[] {2, 2}, 0, 7, 0, 0);
        SparseTensor result = sparse(CALLS.call("aten::to_sparse", dense));
        assertThat(result.elementCount()).isEqualTo(1);
        assertThat(elements(result.values())).containsExactly(7);
        assertThat(elements(CALLS.call("aten::to_dense", Value.of(result)))).containsExactly(0, 7, 0, 0);
    }

    @Test
    void takesDenseDimensionsAndNoElements() {
        SparseTensor rows =
                new SparseTensor(longs(new long[] {1, 1}, 1), floats(new long[] {1, 2}, 5, 6), new long[] {2, 2}, true);
        assertThat(elements(CALLS.call("aten::to_dense", Value.of(rows)))).containsExactly(0, 0, 5, 6);

        SparseTensor none = new SparseTensor(longs(new long[] {2, 0}), floats(new long[] {0}), new long[] {1, 2}, true);
        assertThat(elements(CALLS.call("aten::to_dense", Value.of(none)))).containsExactly(0, 0);
    }

    @Test
    void keepsThatOneRequiresAGradient() {
        Tensor values = new Tensor(elements.dtype(), new long[] {3}, new long[] {1}, 0, false, elements.storage());
        Tensor floats = floats(new long[] {3}, 1, 2, 3);
        Tensor learned = new Tensor(floats.dtype(), new long[] {3}, new long[] {1}, 0, true, floats.storage());

        assertThat(sparse(CALLS.call(
                                "aten::mul",
                                Value.of(new SparseTensor(positions, learned, new long[] {2, 3}, true)),
                                2))
                        .requiresGrad())
                .isTrue();
        assertThat(sparse(CALLS.call(
                                "aten::mul", Value.of(new SparseTensor(positions, values, new long[] {2, 3}, true)), 2))
                        .requiresGrad())
                .isFalse();
    }

    @Test
    void respondsWithTheStoragesItWasGivenAndCountsThem() {
        DirectStorage storage = (DirectStorage) elements.storage();
        SparseTensor same = sparse(CALLS.call("aten::detach", Value.of(sparse)));

        assertThat(same.values().storage()).isSameAs(storage);
        assertThat(storage.count).hasValue(2);
        same.values().storage().release();
        same.indices().storage().release();
    }

    @Test
    void refusesPlacesOutsideOfTheSizes() {
        for (Tensor outside :
                List.of(longs(new long[] {2, 3}, 0, 1, 2, 2, 0, 2), longs(new long[] {2, 3}, 0, 1, 1, -1, 0, 2))) {
            RejectedMessageException refusal = refusal(new SparseTensor(outside, elements, new long[] {2, 3}, false));
            assertThat(refusal).isNotNull().hasMessageContaining("ind");
            assertThat(refusal.code()).isEqualTo(ErrorCode.REFUSED);
        }
    }

    @Test
    void refusesOneThatSaysThatItIsCoalescedAndIsNot() {
        Tensor twice = longs(new long[] {2, 3}, 0, 1, 1, 2, 0, 0);

        assertThat(refusal(new SparseTensor(twice, elements, new long[] {2, 3}, true)))
                .isNotNull()
                .hasMessageContaining("coalesced");
    }

    @Test
    void namesTheLayoutThatDoesNotTravel() {
        RejectedMessageException refusal = catchThrowableOfType(
                RejectedMessageException.class,
                () -> CALLS.callOrRefuse("aten::to_sparse_csr", Map.of(), floats(new long[] {1, 1}, 1)));

        assertThat(refusal).hasMessage("a tensor with the layout SparseCsr does not travel");
    }
}
