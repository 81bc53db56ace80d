package io.waybill.autograd.graph;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorBase;
import org.bytedeco.pytorch.TensorTensorHook;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The memory of gradients: who gets one may change it in place, and no other gradient changes; one that has no other holder is not copied. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
@SuppressWarnings("try")
class GradientBuffersTest {

    @RegisterExtension
    static final LibTorchLoaded TORCH = new LibTorchLoaded();

    private final ContextGraph context = new ContextGraph();
    private final RecordedPass report = new RecordedPass();
    private final List<Tensor> views = new ArrayList<>();
    private final Tensor rows = torch.tensor(1, 1, 3).to(ScalarType.Long);
    private long seen;

    @AfterEach
    void close() {
        context.close();
        views.forEach(Tensor::releaseReference);
    }

    /** Notes where a gradient lies; of a sparse one its values, of which it keeps a view, and of the indices. */
    private final class Noting extends TensorTensorHook {
        @Override
        public TensorBase call(TensorBase gradient) {
            try (PointerScope scope = new PointerScope()) {
                Tensor whole = new Tensor(gradient);
                if (whole.is_sparse()) {
                    views.add(whole._indices().retainReference());
                    views.add(whole._values().retainReference());
                }
                seen = at(whole);
            }
            return gradient;
        }
    }

    private static long at(Tensor tensor) {
        return (tensor.is_sparse() ? tensor._values() : tensor).data_ptr().address();
    }

    private Tensor gradient(Tensor leaf) {
        return context.gradient(leaf).orElseThrow();
    }

    private void backward(Tensor root) {
        try (PointerScope scope = new PointerScope()) { // of what hooks are passed
            BackwardPass pass = context.begin(PassMode.SMART, GraphUse.RETAIN, report);
            pass.roots(List.of(root));
            pass.start();
        }
        assertThat(report.failure).isNull();
    }

    private Tensor looked(Tensor weight) {
        return torch.embedding(weight, rows, -1, false, true).sum();
    }

    @Test
    void twoLeavesNeverShareAGradient() {
        Tensor a = Tensors.leaf(1, 2);
        Tensor b = Tensors.leaf(3, 4);
        backward(a.add(b).mul(Tensors.of(5, 6)).sum());
        assertThat(at(gradient(a))).isNotEqualTo(at(gradient(b)));
        gradient(a).zero_();
        assertThat(Tensors.values(gradient(b))).containsExactly(5, 6);
        assertThat(Tensors.values(gradient(a))).containsExactly(0, 0);
    }

    @Test
    void aGradientWhoseElementsOverlapIsCopied() {
        Tensor a = Tensors.leaf(1, 2);
        backward(a.sum());
        assertThat(gradient(a).is_non_overlapping_and_dense()).isTrue();
        assertThat(at(gradient(a))).isEqualTo(at(gradient(a)));
        assertThat(Tensors.values(gradient(a))).containsExactly(1, 1);
    }

    @Test
    void aGradientWithOneHolderIsNotCopied() {
        Tensor a = Tensors.leaf(1, 2);
        Noting noting = new Noting();
        a.register_hook(noting);
        backward(a.mul(Tensors.of(5, 6)).sum());
        assertThat(at(gradient(a))).isEqualTo(seen);
    }

    @Test
    void twoLeavesNeverShareASparseGradient() {
        Tensor a = Tensors.matrix(4, 1, 2, 3, 4, 5, 6, 7, 8);
        Tensor b = Tensors.matrix(4, 1, 2, 3, 4, 5, 6, 7, 8);
        backward(looked(a.add(b)));
        assertThat(gradient(a).is_sparse()).isTrue();
        assertThat(at(gradient(a))).isNotEqualTo(at(gradient(b)));
    }

    @Test
    void aSparseGradientIsNotCopiedForViewsOfIt() {
        Tensor a = Tensors.matrix(4, 1, 2, 3, 4, 5, 6, 7, 8);
        Noting noting = new Noting();
        a.register_hook(noting);
        Tensor root = looked(a);
        backward(root);
        assertThat(views).hasSize(2);
        assertThat(at(gradient(a))).isEqualTo(seen);
        for (int i = 0; i < 10; i++) {
            backward(root);
        }
        assertThat(Tensors.values(gradient(a))).containsExactly(0, 0, 22, 22, 0, 0, 11, 11);
    }
}
