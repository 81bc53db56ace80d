package io.waybill.autograd.step;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.waybill.autograd.graph.BackwardPass;
import io.waybill.autograd.graph.ContextGraph;
import io.waybill.autograd.graph.GraphUse;
import io.waybill.autograd.graph.PassListener;
import io.waybill.autograd.graph.PassMode;
import io.waybill.autograd.graph.RecvId;
import io.waybill.autograd.optim.OptimizerSettings;
import io.waybill.torch.LibTorch;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.bytedeco.javacpp.DoublePointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 2, unit = TimeUnit.MINUTES)
class LocalOptimizerTest {

    private PointerScope scope;
    private ContextGraph context;

    @BeforeAll
    static void load() {
        new LibTorch(Path.of(System.getProperty(LibTorch.NATIVES_PROPERTY)), 1).load();
    }

    @BeforeEach
    void open() {
        scope = new PointerScope();
        context = new ContextGraph();
    }

    @AfterEach
    void close() {
        context.close();
        scope.close();
    }

    @Test
    void descendsWithMomentumAndWeightDecay() {
        Tensor x = leaf(1.0);
        double expected = 1;
        double velocity = 0;
        try (LocalOptimizer optimizer =
                new LocalOptimizer(List.of(x), new OptimizerSettings.Sgd(0.1, 0.9, 0, 0.01, false))) {
            for (int i = 0; i < 3; i++) {
                assertThat(step(optimizer, x)).isEqualTo(1);
                double gradient = 2 * expected + 0.01 * expected;
                velocity = i == 0 ? gradient : 0.9 * velocity + gradient;
                expected -= 0.1 * velocity;
                assertThat(x.item_double()).isCloseTo(expected, within(1e-12));
            }
        }
    }

    @Test
    void adaptsWithAdamAndAdamW() {
        for (boolean isDecoupled : new boolean[] {false, true}) {
            Tensor x = leaf(1.0);
            double expected = 1;
            double mean = 0;
            double square = 0;
            OptimizerSettings settings = isDecoupled
                    ? new OptimizerSettings.AdamW(0.1, 0.8, 0.95, 1e-6, 0.01, false)
                    : new OptimizerSettings.Adam(0.1, 0.8, 0.95, 1e-6, 0.01, false);
            try (LocalOptimizer optimizer = new LocalOptimizer(List.of(x), settings)) {
                for (int i = 1; i <= 3; i++) {
                    step(optimizer, x);
                    double gradient = 2 * expected + (isDecoupled ? 0 : 0.01 * expected);
                    expected *= isDecoupled ? 1 - 0.1 * 0.01 : 1;
                    mean = 0.8 * mean + 0.2 * gradient;
                    square = 0.95 * square + 0.05 * gradient * gradient;
                    double denominator = Math.sqrt(square / (1 - Math.pow(0.95, i))) + 1e-6;
                    expected -= 0.1 * mean / (1 - Math.pow(0.8, i)) / denominator;
                    assertThat(x.item_double()).isCloseTo(expected, within(1e-12));
                }
            }
        }
    }

    @Test
    void leavesParametersWithoutAGradientAndEveryGradAsTheyWere() {
        Tensor x = leaf(1.0);
        Tensor unused = leaf(5.0);
        x.mutable_grad().put(leaf(7.0).detach());
        try (LocalOptimizer optimizer = new LocalOptimizer(List.of(unused, x), new OptimizerSettings.Sgd(0.1))) {
            assertThat(step(optimizer, x)).isEqualTo(1);
        }
        assertThat(x.item_double()).isCloseTo(0.8, within(1e-12));
        assertThat(unused.item_double()).isEqualTo(5);
        assertThat(x.grad().item_double()).isEqualTo(7);
        assertThat(unused.grad().defined()).isFalse();
    }

    @Test
    void keepsGradAfterAStepThatFails() {
        Tensor weight = torch.ones(new long[] {3, 2}, new TensorOptions(ScalarType.Double));
        weight.set_requires_grad(true);
        Tensor row = torch.tensor(1L).to(ScalarType.Long);
        backward(torch.embedding(weight, row, -1, false, true).sum());
        try (LocalOptimizer optimizer = new LocalOptimizer(List.of(weight), new OptimizerSettings.Adam(0.1))) {
            assertThatThrownBy(() -> optimizer.step(context)).hasMessageContaining("sparse");
            assertThat(weight.grad().defined()).isFalse();
        }
    }

    @Test
    void refusesWhatIsNoParameter() {
        Tensor x = leaf(1.0);
        OptimizerSettings settings = new OptimizerSettings.Sgd(0.1);
        assertThatThrownBy(() -> new LocalOptimizer(List.of(), settings)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new LocalOptimizer(List.of(x.mul(x)), settings))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new LocalOptimizer(List.of(x, leaf(2.0), x), settings))
                .hasMessage("the parameter at 2 comes twice");
        assertThatThrownBy(() -> new OptimizerSettings.Sgd(-1)).hasMessage("lr must be a finite number from 0: -1.0");
        assertThatThrownBy(() -> new OptimizerSettings.Sgd(1, 0, 0, 0, true)).hasMessageContaining("Nesterov");
        assertThatThrownBy(() -> new OptimizerSettings.Adam(1, 1, 0.9, 0, 0, false))
                .hasMessageContaining("below 1");
    }

    @Test
    void freesWhatItHolds() {
        Tensor x = leaf(1.0);
        step(x); // libtorch's classes make some objects once
        long count = Pointer.totalCount();
        for (int i = 0; i < 100; i++) {
            step(x);
        }
        assertThat(Pointer.totalCount()).isEqualTo(count);
    }

    @SuppressWarnings("try")
    private static void step(Tensor x) {
        try (PointerScope inner = new PointerScope();
                ContextGraph other = new ContextGraph();
                LocalOptimizer optimizer = new LocalOptimizer(List.of(x), new OptimizerSettings.AdamW(0.1))) {
            backward(other, x.mul(x));
            optimizer.step(other);
            optimizer.close();
            assertThatThrownBy(() -> optimizer.step(other)).hasMessage("this optimizer is closed");
        }
    }

    /** One step for the loss x². */
    private static int step(LocalOptimizer optimizer, Tensor x) {
        try (ContextGraph fresh = new ContextGraph()) {
            backward(fresh, x.mul(x));
            return optimizer.step(fresh);
        }
    }

    private void backward(Tensor root) {
        backward(context, root);
    }

    private static void backward(ContextGraph context, Tensor root) {
        BackwardPass pass = context.begin(PassMode.SMART, GraphUse.RELEASE, new PassListener() {
            @Override
            public void received(RecvId recv, List<Tensor> gradients) {}

            @Override
            public void done() {}

            @Override
            public void failed(Throwable cause) {
                throw new AssertionError(cause);
            }
        });
        pass.roots(List.of(root));
        pass.start();
    }

    private static Tensor leaf(double value) {
        try (DoublePointer bytes = new DoublePointer(value)) {
            Tensor leaf = torch.from_blob(bytes, new long[] {}, new TensorOptions(ScalarType.Double))
                    .mul(new Scalar(1));
            leaf.set_requires_grad(true);
            return leaf;
        }
    }
}
