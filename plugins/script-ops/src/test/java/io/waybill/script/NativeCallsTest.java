package io.waybill.script;

import static io.waybill.script.Calls.elements;
import static io.waybill.script.Calls.tensor;
import static io.waybill.script.DirectStorage.floats;
import static io.waybill.script.DirectStorage.longs;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.ValueDecoder;
import io.waybill.api.ValueEncoder;
import io.waybill.api.tensor.SparseTensor;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.torch.NativeTensor;
import io.waybill.torch.NativeTensors;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Calls whose tensors carry their native side, as between two handlers of one worker. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
@SuppressWarnings("try")
class NativeCallsTest {

    private static final Calls CALLS = new Calls();
    private static final NativeTensors NATIVES = CALLS.natives;

    private final Tensor plain = floats(new long[] {2}, 3, 4);
    private final List<Value> results = new ArrayList<>();
    private final List<NativeTensor> handles = new ArrayList<>();
    private PointerScope scope;

    @TempDir
    private Path directory;

    @BeforeEach
    void openScope() {
        scope = new PointerScope();
    }

    @AfterEach
    void leavesNothing() {
        handles.forEach(NativeTensor::release);
        results.forEach(NativeCallsTest::release);
        scope.close();
        assertThat(NATIVES.liveCount()).as("handles").isZero();
        assertThat(NATIVES.storageCount()).as("storages of messages in use").isZero();
        assertThat(((DirectStorage) plain.storage()).count)
                .as("counts of the message's storage")
                .hasValue(1);
    }

    private static void release(Value value) {
        ValueEncoder encoder = new ValueEncoder();
        encoder.value(value);
        encoder.tensors().forEach(tensor -> tensor.storage().release());
    }

    private NativeTensor leaf(double... elements) throws RejectedMessageException {
        NativeTensor leaf = NATIVES.of(floats(new long[] {elements.length}, elements));
        leaf.tensor().set_requires_grad(true);
        handles.add(leaf);
        return leaf;
    }

    private Value described(NativeTensor live) throws RejectedMessageException {
        return kept(NATIVES.describe(live));
    }

    private Value kept(Value result) {
        results.add(result);
        return result;
    }

    private org.bytedeco.pytorch.Tensor live(Value value) {
        NativeTensor found = NATIVES.find(tensor(value)).orElseThrow();
        handles.add(found);
        return found.tensor();
    }

    private static float[] gradient(org.bytedeco.pytorch.Tensor of, NativeTensor by) {
        org.bytedeco.pytorch.Tensor gradient = torch.grad(new TensorVector(of.sum()), new TensorVector(by.tensor()))
                .get(0)
                .contiguous();
        float[] elements = new float[(int) gradient.numel()];
        new FloatPointer(gradient.data_ptr()).get(elements);
        return elements;
    }

    @Test
    void anOperatorContinuesTheGraphOfItsArguments() throws Exception {
        NativeTensor x = leaf(1, 2);
        Value squared = kept(CALLS.call("aten::mul", described(x), described(x)));
        Value result = kept(CALLS.call("aten::mul", squared, plain));

        assertThat(elements(result)).containsExactly(3, 16);
        assertThat(tensor(result).requiresGrad()).isTrue();
        assertThat(gradient(live(result), x)).containsExactly(6, 16);
    }

    @Test
    void theNativeSideSurvivesTheWayThroughAPayload() throws Exception {
        NativeTensor x = leaf(1, 2);
        ValueEncoder encoder = new ValueEncoder();
        encoder.value(new Value.Items(List.of(described(x))));
        Value.Items decoded = (Value.Items)
                new ValueDecoder(ByteBuffer.wrap(encoder.array(), 0, encoder.length()), encoder.tensors()).value();

        Value result = kept(CALLS.call("aten::mul", decoded.values().get(0), 2));
        assertThat(gradient(live(result), x)).containsExactly(2, 2);
    }

    @Test
    void aMessagesBytesStayWhileAGraphNeedsThem() throws Exception {
        NativeTensor x = leaf(1, 2);
        Value result = CALLS.call("aten::mul", described(x), plain);

        assertThat(((DirectStorage) plain.storage()).count)
                .as("the graph saved them")
                .hasValue(2);
        assertThat(NATIVES.storageCount()).isEqualTo(2);
        release(result);
        assertThat(((DirectStorage) plain.storage()).count)
                .as("released with the result")
                .hasValue(1);
        kept(CALLS.call("aten::add", described(x), plain));
        assertThat(((DirectStorage) plain.storage()).count)
                .as("a sum saves nothing")
                .hasValue(1);
    }

    @Test
    void aCallWithoutNativeArgumentsHasNoGraphOverItsBytes() {
        Tensor asking = new Tensor(plain.dtype(), plain.sizes(), plain.strides(), 0, true, plain.storage());

        Value result = kept(CALLS.call("aten::mul", asking, 2));

        assertThat(tensor(result).requiresGrad()).isTrue();
        assertThat(NATIVES.find(tensor(result))).isEmpty();
    }

    @Test
    void resultsThatShareMemoryShareAStorage() throws Exception {
        NativeTensor x = leaf(1, 2, 3, 4);
        Value doubled = kept(CALLS.call("aten::mul", described(x), 2));
        Value.Items halves = (Value.Items) kept(CALLS.call("aten::split", doubled, 2));

        Tensor first = tensor(halves.values().get(0));
        Tensor second = tensor(halves.values().get(1));
        assertThat(first.storage()).isSameAs(second.storage());
        assertThat(gradient(live(halves.values().get(1)), x)).containsExactly(0, 0, 2, 2);
        Tensor other = new Tensor(first.dtype(), first.sizes(), first.strides(), 0, true, first.storage());
        assertThat(NATIVES.find(other)).as("another tensor over the storage").isEmpty();
        assertThat(elements(kept(CALLS.call("aten::add", other, 1)))).containsExactly(3, 5);
    }

    @Test
    void aReceivedTensorIsChangedInPlace() throws Exception {
        NativeTensor x = leaf(1, 2);
        Value h = kept(CALLS.call("aten::mul", described(x), 3));
        Value changed = kept(CALLS.call("aten::mul_", h, plain));

        assertThat(elements(changed)).containsExactly(9, 24);
        assertThat(elements(h)).as("the same memory").containsExactly(9, 24);
        assertThat(gradient(live(changed), x)).containsExactly(9, 12);
    }

    @Test
    void memoryThatAMessageDescribesIsNotResized() throws Exception {
        NativeTensor made;
        try (PointerScope inner = new PointerScope()) {
            made = NATIVES.hold(torch.ones(2));
        }
        handles.add(made);
        Value value = described(made);

        RejectedMessageException refusal = catchThrowableOfType(
                RejectedMessageException.class,
                () -> CALLS.callOrRefuse("aten::resize_", Map.of(), value, List.of(1_000_000)));

        assertThat(refusal.code()).isEqualTo(ErrorCode.REFUSED);
        assertThat(refusal).hasMessageContaining("not resizable");
        assertThat(elements(value)).containsExactly(1, 1);
    }

    @Test
    void aSparseTensorKeepsItsGraph() throws Exception {
        NativeTensor x = leaf(1, 2);
        Value sparse = kept(CALLS.call("aten::to_sparse", described(x)));
        assertThat(sparse).isInstanceOf(Value.OfSparse.class);
        Value result = kept(CALLS.call("aten::mul", kept(CALLS.call("aten::to_dense", sparse)), 5));
        assertThat(gradient(live(result), x)).containsExactly(5, 5);

        SparseTensor plainSparse =
                new SparseTensor(longs(new long[] {1, 2}, 0, 1), floats(new long[] {2}, 7, 8), new long[] {2}, true);
        NativeTensor live = NATIVES.of(plainSparse);
        handles.add(live);
        assertThat(elements(kept(CALLS.call("aten::to_dense", described(live)))))
                .containsExactly(7, 8);
    }

    @Test
    void aFunctionContinuesTheGraph() throws Exception {
        CompiledScript script = CompiledScript.of(ScriptFile.source(
                directory,
                "math",
                "def f(x, w):\n    h = x * w\n    for i in range(2):\n        h = h * w\n    return h\n"));
        CALLS.engine.functions().add(script);
        NativeTensor x = leaf(1, 2);
        ScriptFunction f = CALLS.engine.functions().find("math.f");
        Invocation call = new Invocation("math.f", List.of(described(x), Value.of(plain)), Map.of());

        Value result = kept(CALLS.engine.run(f, call, ScriptCalls.none()));
        CALLS.engine.functions().remove(script);
        script.close();

        assertThat(gradient(live(result), x)).containsExactly(27, 64);
    }

    @Test
    void theServiceRunsOnLiveTensorsWhateverTheArgumentsCarry() throws Exception {
        ScriptEngine engine = new ScriptEngine(NATIVES, OperatorPolicy.standard());
        Tensor asking = new Tensor(plain.dtype(), plain.sizes(), plain.strides(), 0, true, plain.storage());
        Invocation call = new Invocation("aten::mul", List.of(Value.of(asking), Value.of(2L)), Map.of());

        assertThat(live(kept(engine.run(call))).grad_fn().name().getString()).startsWith("MulBackward");
        engine.leave();
        RejectedMessageException gone = catchThrowableOfType(RejectedMessageException.class, () -> engine.run(call));
        assertThat(gone.code()).isEqualTo(ErrorCode.HANDLER_GONE);
    }

    @Test
    void misuseIsAnErrorAndNoCrash() throws Exception {
        NativeTensor x = NATIVES.of(floats(new long[] {2}, 1, 2));
        Value value = NATIVES.describe(x);
        org.bytedeco.pytorch.Tensor kept = x.tensor();
        x.release();

        assertThatThrownBy(x::release).isInstanceOf(IllegalStateException.class).hasMessageContaining("released");
        assertThatThrownBy(x::tensor).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(x::retain).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> NATIVES.describe(x)).isInstanceOf(IllegalStateException.class);
        assertThat(kept.sum().item_float()).as("what was taken before").isEqualTo(3);
        Storage storage = tensor(value).storage();
        storage.release();
        assertThatThrownBy(storage::release).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> NATIVES.find(tensor(value))).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> CALLS.callOrRefuse("aten::add", Map.of(), value, 1))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("released");
        assertThatThrownBy(() -> NATIVES.hold(new org.bytedeco.pytorch.Tensor()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("undefined");
        kept.close();
        assertThatThrownBy(() -> NATIVES.hold(kept))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("freed");
    }

    @Test
    void oneThreadReleasesWhileAnotherUses() throws Exception {
        for (int i = 0; i < 300; i++) {
            NativeTensor shared = NATIVES.of(floats(new long[] {2}, 1, 2));
            AtomicReference<Throwable> unexpected = new AtomicReference<>();
            Thread user = new Thread(() -> {
                try (PointerScope own = new PointerScope()) {
                    while (true) {
                        shared.tensor().numel();
                    }
                } catch (IllegalStateException e) {
                    // released meanwhile
                } catch (Throwable e) {
                    unexpected.set(e);
                }
            });
            user.start();
            shared.release();
            user.join();
            assertThat(unexpected).hasNullValue();
        }
    }

    @Test
    void manyGraphsAreHeldAtATime() throws Exception {
        List<Value> held = new ArrayList<>();
        NativeTensor x = leaf(1, 2);
        Value argument = described(x);
        List<Tensor> messages = new ArrayList<>();
        for (int i = 0; i < 1_000; i++) {
            messages.add(floats(new long[] {2}, i, i));
            held.add(CALLS.call("aten::mul", argument, messages.get(i)));
        }
        assertThat(NATIVES.storageCount()).as("each saved its message's bytes").isEqualTo(1_001);
        assertThat(gradient(live(held.get(999)), x)).containsExactly(999, 999);
        handles.remove(handles.size() - 1).release();

        held.forEach(NativeCallsTest::release);
        assertThat(NATIVES.storageCount()).as("the leaf's").isEqualTo(1);
        for (Tensor message : messages) {
            assertThat(((DirectStorage) message.storage()).count).hasValue(1);
        }
    }

    @Test
    void memoryIsFlatOverManyWrappedCalls() throws Exception {
        wrappedCalls(1_000);
        long pointers = Pointer.totalCount();
        long bytes = Pointer.physicalBytes();

        wrappedCalls(10_000);

        // A tensor that stayed would be 64 KiB, 640 MB in all; the Java heap grows too.
        assertThat(Pointer.totalCount() - pointers).as("libtorch's objects").isLessThan(100);
        assertThat(Pointer.physicalBytes() - bytes).as("resident bytes").isLessThan(400L << 20);
    }

    private void wrappedCalls(int count) throws RejectedMessageException {
        Tensor large = floats(new long[] {16_384}, new double[16_384]);
        for (int i = 0; i < count; i++) {
            try (PointerScope own = new PointerScope()) {
                NativeTensor x = NATIVES.of(large);
                x.tensor().set_requires_grad(true);
                Value argument = NATIVES.describe(x);
                Value squared = CALLS.call("aten::mul", argument, argument);
                Value result = CALLS.call("aten::mul", squared, large);
                NativeTensor live = NATIVES.find(tensor(result)).orElseThrow();
                torch.grad(new TensorVector(live.tensor().sum()), new TensorVector(x.tensor()));
                live.release();
                x.release();
                List.of(argument, squared, result).forEach(NativeCallsTest::release);
            }
        }
        assertThat(NATIVES.storageCount()).isZero();
        assertThat(((DirectStorage) large.storage()).count).hasValue(1);
    }
}
