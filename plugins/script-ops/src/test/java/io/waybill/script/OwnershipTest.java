package io.waybill.script;

import static io.waybill.script.Calls.elements;
import static io.waybill.script.Calls.tensor;
import static io.waybill.script.DirectStorage.floats;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.testing.core.RecordingOutbox;
import io.waybill.testing.core.TestMessage;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Whose bytes a result lies in, and who frees what. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class OwnershipTest {

    private static final Calls CALLS = new Calls();

    private final Tensor a = floats(new long[] {2, 3}, 1, 2, 3, 4, 5, 6);

    private static DirectStorage storage(Tensor tensor) {
        return (DirectStorage) tensor.storage();
    }

    @Test
    void respondsWithTheMessagesOwnStorageWhenTheResultIsAViewOfIt() {
        Tensor view = tensor(CALLS.call("aten::select", a, 1, 2));

        assertThat(view.storage()).isSameAs(a.storage());
        assertThat(view.storageOffset()).isEqualTo(2);
        assertThat(view.strides()).containsExactly(3);
        assertThat(elements(view)).containsExactly(3, 6);
        assertThat(storage(a).count).as("one count for the reply").hasValue(2);
    }

    @Test
    void changesTheArgumentInPlace() {
        Tensor changed = tensor(CALLS.call("aten::add_", a, 1));

        assertThat(changed.storage()).isSameAs(a.storage());
        assertThat(elements(a)).containsExactly(2, 3, 4, 5, 6, 7);
    }

    @Test
    void letsTensorsOverOneStorageShareItInLibtorch() {
        Tensor row = new Tensor(DType.FLOAT32, new long[] {3}, new long[] {1}, 3, false, a.storage());
        Tensor column = new Tensor(DType.FLOAT32, new long[] {2}, new long[] {3}, 0, false, a.storage());

        assertThat(elements(CALLS.call("aten::add", row, 0))).containsExactly(4, 5, 6);
        assertThat(elements(CALLS.call("aten::cat", List.of(row, column)))).containsExactly(4, 5, 6, 1, 4);
        assertThat(CALLS.call("aten::is_set_to", a, a)).isEqualTo(Value.of(true));
        CALLS.call("aten::copy_", column, floats(new long[] {2}, 10, 40));
        assertThat(elements(a)).containsExactly(10, 2, 3, 40, 5, 6);
    }

    @Test
    void refusesToWriteWhereOneResultWouldOverlapItsArgument() {
        Tensor head = new Tensor(DType.FLOAT32, new long[] {4}, new long[] {1}, 0, false, a.storage());
        Tensor tail = new Tensor(DType.FLOAT32, new long[] {4}, new long[] {1}, 2, false, a.storage());

        assertThatThrownBy(() -> CALLS.callOrRefuse("aten::add_", Map.of(), head, tail))
                .isInstanceOf(RejectedMessageException.class)
                .hasMessageContaining("refer to a single memory location");
    }

    @Test
    void seesTheWholeStorageBehindAView() {
        Tensor first = new Tensor(DType.FLOAT32, new long[] {1}, new long[] {1}, 0, false, a.storage());

        Value all = CALLS.call("aten::as_strided", first, List.of(6), List.of(1), 0);

        assertThat(elements(all)).containsExactly(1, 2, 3, 4, 5, 6);
    }

    @Test
    void carriesWhetherAGradientIsAskedFor() {
        Tensor leaf = new Tensor(DType.FLOAT32, new long[] {6}, new long[] {1}, 0, true, a.storage());

        assertThat(tensor(CALLS.call("aten::mul", leaf, 2)).requiresGrad()).isTrue();
        assertThat(tensor(CALLS.call("aten::detach", leaf)).requiresGrad()).isFalse();
        assertThat(tensor(CALLS.call("aten::detach", leaf)).storage()).isSameAs(a.storage());
        assertThat(tensor(CALLS.call("aten::mul", a, 2)).requiresGrad()).isFalse();
    }

    @Test
    void keepsAResultsMemoryUntilItsLastCountIsGivenBack() {
        Storage storage = tensor(CALLS.call("aten::mul", a, 2)).storage();

        assertThat(storage.sizeBytes()).isEqualTo(24);
        assertThat(storage.address() % 64).isZero();
        ByteBuffer third = storage.bytes(8, 4);
        assertThat(third.getFloat()).isEqualTo(6);
        assertThatThrownBy(() -> storage.bytes(24, 1)).isInstanceOf(IndexOutOfBoundsException.class);
        storage.retain();
        storage.release();
        assertThat(storage.bytes(0, 4).getFloat()).isEqualTo(2);
        storage.release();
        assertThatThrownBy(storage::release).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(storage::address).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(storage::retain).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void respondsWithEmptyResults() {
        Tensor empty = tensor(CALLS.call("aten::slice", a, 0, 0, 0));
        assertThat(empty.sizes()).containsExactly(0, 3);
        Tensor none = tensor(CALLS.call("aten::nonzero", floats(new long[] {2}, 0, 0)));
        assertThat(none.sizes()).containsExactly(0, 1);
        assertThat(none.storage().bytes(0, 0).remaining()).isZero();
        assertThat(elements(CALLS.call("aten::sum", floats(new long[] {0})))).containsExactly(0);
    }

    @Test
    void leavesNothingBehindWhenItFails() {
        long before = Pointer.totalCount();
        for (int i = 0; i < 1000; i++) {
            assertThatThrownBy(() -> CALLS.callOrRefuse("aten::mm", Map.of(), a, a))
                    .isInstanceOf(RejectedMessageException.class);
            assertThatThrownBy(() -> CALLS.callOrRefuse("aten::to_sparse_csr", Map.of(), a))
                    .isInstanceOf(RejectedMessageException.class);
        }
        assertThat(Pointer.totalCount() - before).isLessThan(100);
        assertThat(PointerScope.getInnerScope()).isNull();
        assertThat(storage(a).count).hasValue(1);
    }

    @Test
    void usesNoMoreMemoryAfterManyCalls() throws RejectedMessageException {
        Tensor large = floats(new long[] {1024}, new double[1024]);
        List<Value> arguments = List.of(Value.of(large), Value.of(large));
        TestMessage add =
                TestMessage.of(MessageType.SCRIPT_CALL, new Invocation("aten::add.Tensor", arguments, Map.of()));
        TestMessage split = TestMessage.of(
                MessageType.SCRIPT_CALL,
                new Invocation("aten::split", List.of(Value.of(large), Value.of(512L)), Map.of()));
        RecordingOutbox outbox = new RecordingOutbox();
        handle(add, split, outbox, 20_000);
        long pointers = Pointer.totalCount();
        long bytes = Pointer.physicalBytes();

        handle(add, split, outbox, 300_000);

        // A result that stayed would be 4 KiB, 1.2 GB in all.
        assertThat(Pointer.totalCount() - pointers).isLessThan(100);
        assertThat(Pointer.physicalBytes() - bytes).isLessThan(400L << 20);
        assertThat(storage(large).count).hasValue(1);
    }

    private static void handle(TestMessage add, TestMessage split, RecordingOutbox outbox, int calls)
            throws RejectedMessageException {
        for (int i = 0; i < calls; i++) {
            CALLS.handler.handle(i % 8 == 0 ? split : add, outbox);
            outbox.release();
        }
    }
}
