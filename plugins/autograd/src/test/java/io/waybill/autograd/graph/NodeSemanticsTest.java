package io.waybill.autograd.graph;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.testing.core.Waits;
import io.waybill.torch.NodeHooks;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.CompilationUnit;
import org.bytedeco.pytorch.FunctionPostHook;
import org.bytedeco.pytorch.FunctionPreHook;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.IValueVector;
import org.bytedeco.pytorch.Node;
import org.bytedeco.pytorch.QualifiedName;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorBase;
import org.bytedeco.pytorch.TensorTensorHook;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What libtorch's engine does around the nodes is done here too. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
@SuppressWarnings("try")
class NodeSemanticsTest {

    @RegisterExtension
    static final LibTorchLoaded TORCH = new LibTorchLoaded();

    private final ContextGraph context = new ContextGraph();
    private final RecordedPass report = new RecordedPass();

    @AfterEach
    void close() {
        context.close();
    }

    private static TensorTensorHook times(double factor) {
        return new TensorTensorHook() {
            @Override
            public TensorBase call(TensorBase gradient) {
                return new Tensor(gradient).mul(new Scalar(factor));
            }
        };
    }

    @Test
    void runsHooksOfTensors() {
        Tensor p = Tensors.of(1, 2);
        context.received(9, 1, List.of(p));
        Tensor x = Tensors.leaf(1, 2);
        Tensor h = x.mul(p);
        TensorTensorHook onLeaf = times(10);
        TensorTensorHook onInner = times(2);
        TensorTensorHook onReceived = times(100);
        x.register_hook(onLeaf);
        h.register_hook(onInner);
        p.register_hook(onReceived);

        backward(h.sum());

        assertThat(gradient(x)).containsExactly(20, 40);
        assertThat(report.gradients.get(0).get(0)).containsExactly(200, 400);
    }

    @Test
    void refusesHooksOfNodesThatAreWrittenInJava() {
        Tensor x = Tensors.leaf(1, 2);
        FunctionPreHook before = new FunctionPreHook() {
            @Override
            public TensorVector apply(TensorVector gradients) {
                return gradients;
            }
        };
        FunctionPostHook after = new FunctionPostHook() {
            @Override
            public TensorVector apply(TensorVector results, TensorVector gradients) {
                return results;
            }
        };
        Tensor first = x.mul(x);
        first.grad_fn().add_pre_hook(before);
        Tensor second = x.exp();
        second.grad_fn().add_post_hook(after);

        for (Tensor hooked : List.of(first, second)) {
            run(hooked.sum());
            assertThat(report.failure)
                    .isInstanceOf(BackwardException.class)
                    .hasMessageContaining("register it on the tensor instead");
        }
    }

    /** Adds a number to the counter, and multiplies the results. */
    private static FunctionPostHook counting(AtomicInteger counter, int number, double factor) {
        return new FunctionPostHook() {
            @Override
            public TensorVector apply(TensorVector results, TensorVector gradients) {
                counter.addAndGet(number);
                Tensor[] changed = Arrays.stream(results.get())
                        .map(result -> result.defined() ? result.mul(new Scalar(factor)) : result)
                        .toArray(Tensor[]::new);
                return new TensorVector(changed);
            }
        };
    }

    @Test
    void runsHooksAfterTheNodesOfLeavesOncePerPass() {
        Tensor x = Tensors.leaf(1, 2);
        Tensor sum = x.add(x);
        AtomicInteger counter = new AtomicInteger();
        NodeHooks.Registration one = NodeHooks.after(accumulator(sum, 0), counting(counter, 1, 1));
        NodeHooks.Registration two = NodeHooks.after(accumulator(sum, 0), counting(counter, 2, 1));
        NodeHooks.Registration other = NodeHooks.after(accumulator(sum, 1), counting(counter, 2, 1));

        backward(sum.sum());

        assertThat(counter).hasValue(5);
        assertThat(context.gradientCount()).isEqualTo(1);
        one.close();
        one.close();
        backward(sum.sum());
        assertThat(counter).hasValue(9);
        two.close();
        other.close();
        backward(sum.sum());
        assertThat(counter).hasValue(9);
        assertThat(gradient(x)).containsExactly(6, 6);
    }

    private static Node accumulator(Tensor sum, int edge) {
        return sum.grad_fn().next_edge(edge).function();
    }

    @Test
    void runsHooksAfterNodesOfOperatorsAsLibtorchDoes() {
        Tensor x = Tensors.leaf(1, 2);
        Tensor h = x.mul(new Scalar(3));
        AtomicInteger counter = new AtomicInteger();
        try (NodeHooks.Registration ten = NodeHooks.after(h.grad_fn(), counting(counter, 1, 10))) {
            assertThat(Tensors.gradients(List.of(h.sum()), List.of(x)).get(0)).containsExactly(30, 30);
            backward(h.sum());
            assertThat(gradient(x)).containsExactly(30, 30);
            assertThat(counter).hasValue(2);
        }
        backward(h.sum());
        assertThat(gradient(x)).containsExactly(33, 33);
    }

    @Test
    void hooksAfterNodesAreFreedOnce() {
        List<WeakReference<FunctionPostHook>> hooks = new ArrayList<>();
        AtomicInteger counter = new AtomicInteger();
        for (int i = 0; i < 200; i++) {
            try (PointerScope scope = new PointerScope()) {
                Tensor h = Tensors.leaf(1, 2).mul(new Scalar(3));
                FunctionPostHook hook = counting(counter, 1, 1);
                hooks.add(new WeakReference<>(hook));
                NodeHooks.after(h.grad_fn(), hook).close();
            }
        }
        Waits.until("the hooks are unreachable", () -> {
            System.gc();
            return hooks.stream().allMatch(hook -> hook.get() == null);
        });
        assertThat(counter).hasValue(0);
    }

    @Test
    void failsWhenAHookAfterANodeReturnsNothing() {
        Tensor h = Tensors.leaf(1, 2).mul(new Scalar(3));
        FunctionPostHook nothing = new FunctionPostHook() {
            @Override
            public TensorVector apply(TensorVector results, TensorVector gradients) {
                return null;
            }
        };
        try (NodeHooks.Registration added = NodeHooks.after(h.grad_fn(), nothing)) {
            run(h.sum());
            assertThat(report.failure)
                    .isInstanceOf(BackwardException.class)
                    .hasMessageContaining("a hook after MulBackward1 returned null");
        }
    }

    @Test
    void keepsTheGradientsOfTensorsThatRetainThem() {
        assertThat(Hooks.RetainedGradients.POSITION)
                .as("where a node counts its hooks")
                .isPositive();
        Tensor p = Tensors.of(1, 2);
        context.received(9, 1, List.of(p));
        Tensor x = Tensors.leaf(3, 4);
        Tensor h = x.mul(p);
        TensorVector halves = torch.unbind(h, 0);
        Tensor second = halves.get(1);
        p.retain_grad();
        h.retain_grad();
        second.retain_grad();
        Tensor root = halves.get(0).mul(new Scalar(5)).add(second.mul(new Scalar(7)));

        for (int pass = 1; pass <= 100; pass++) {
            backward(root);
            if (pass % 20 == 0) {
                System.gc(); // what is freed twice is found
            }
            assertThat(Tensors.values(h.grad())).containsExactly(pass * 5, pass * 7);
            assertThat(Tensors.values(second.grad())).containsExactly(pass * 7);
            assertThat(Tensors.values(p.grad())).containsExactly(pass * 15, pass * 28);
        }
        assertThat(x.grad().defined()).as("a leaf's own").isFalse();
        assertThat(gradient(x)).containsExactly(100 * 5, 100 * 14);
        assertThat(Tensors.gradients(List.of(root), List.of(x)).get(0)).containsExactly(5, 14);
    }

    @Test
    void failsWithTheTextOfAHookThatThrows() {
        Tensor x = Tensors.leaf(1, 2);
        Tensor h = x.mul(x);
        TensorTensorHook bad = new TensorTensorHook() {
            @Override
            public TensorBase call(TensorBase gradient) {
                throw new IllegalStateException("thrown by a hook");
            }
        };
        h.register_hook(bad);

        run(h.sum());

        assertThat(report.failure).isInstanceOf(BackwardException.class).hasMessageContaining("thrown by a hook");
        assertThat(context.gradientCount()).isZero();
        backward(x.sum());
        assertThat(gradient(x)).containsExactly(1, 1);
    }

    @Test
    void sumsOverWhatWasBroadcastAndConvertsElementTypes() {
        Tensor x = Tensors.leaf(2);
        Tensor y = Tensors.matrix(2, 1, 2, 3, 4, 5, 6).detach().to(ScalarType.Float);
        y.set_requires_grad(true);

        backward(x.add(y).mul(x).sum());

        assertThat(gradient(x)).containsExactly(2 * 2 * 6 + 21);
        assertThat(context.gradient(y).orElseThrow().scalar_type().value).isEqualTo(ScalarType.Float.value);
        assertThat(gradient(y)).containsOnly(2);
    }

    @Test
    void addsSparseGradientsInBothOrders() {
        Tensor weight = Tensors.matrix(4, 1, 2, 3, 4, 5, 6, 7, 8);
        Tensor rows = torch.tensor(1, 1, 3).to(ScalarType.Long);
        Tensor looked = torch.embedding(weight, rows, -1, false, true).sum();

        backward(looked);
        assertThat(context.gradient(weight).orElseThrow().is_sparse()).isTrue();
        assertThat(gradient(weight)).containsExactly(0, 0, 2, 2, 0, 0, 1, 1);

        backward(torch.embedding(weight, rows, -1, false, true).sum().add(weight.sum()));
        backward(weight.sum().add(torch.embedding(weight, rows, -1, false, true).sum()));
        assertThat(gradient(weight)).containsExactly(2, 2, 8, 8, 2, 2, 5, 5);
    }

    @Test
    void differentiatesOperatorsInPlaceOnReceivedTensorsAndTheirViews() {
        Tensor p = Tensors.of(1, 2, 3, 4);
        context.received(9, 1, List.of(p));
        Tensor x = Tensors.leaf(1, 1, 1, 1);
        p.mul_(new Scalar(3));
        p.narrow(0, 1, 2).mul_(new Scalar(10));
        p.add_(x);

        backward(p.mul(p).sum());

        assertThat(gradient(x)).containsExactly(8, 122, 182, 26);
        assertThat(report.gradients.get(0).get(0)).containsExactly(24, 3660, 5460, 78);
    }

    @Test
    void sendsTheTensorAsItWasBeforeAnOperatorInPlace() {
        Tensor x = Tensors.leaf(1, 2);
        Tensor h = x.mul(new Scalar(2));
        context.sent(7, List.of(h));
        h.mul_(new Scalar(100));

        BackwardPass pass = context.begin(PassMode.SMART, GraphUse.RETAIN, report);
        pass.discover(7);
        pass.feed(7, List.of(Tensors.of(1, 1)));

        assertThat(gradient(x)).containsExactly(2, 2);
    }

    @Test
    void differentiatesNodesWithSeveralResults() {
        Tensor x = Tensors.matrix(2, 1, 2, 3, 4);
        TensorVector rows = torch.unbind(x, 0);
        Tensor whole = torch.cat(new TensorVector(rows.get(1), rows.get(0), rows.get(1)), 0);

        backward(whole.mul(Tensors.of(1, 2, 3, 4, 5, 6)).sum());

        assertThat(gradient(x)).containsExactly(3, 4, 6, 8);
    }

    @Test
    void leavesUndefinedGradientsUndefined() {
        Tensor p = Tensors.of(1, 2);
        Tensor q = Tensors.of(1, 2);
        context.received(9, 1, List.of(p, q));
        TensorVector rows = torch.unbind(torch.stack(new TensorVector(p, q)), 0);

        backward(rows.get(0).sum());
        context.sent(7, List.of(Tensors.leaf(1).mul(q.sum())));
        BackwardPass pass = context.begin(PassMode.SMART, GraphUse.RELEASE, report);
        pass.discover(7);
        pass.feed(7, List.of(new Tensor()));

        assertThat(report.gradients.get(0).get(1)).containsExactly(0, 0);
        assertThat(report.gradients.get(1)).containsExactly(null, null);
        assertThat(report.done).isEqualTo(2);
    }

    @Test
    void differentiatesFunctionsOfScripts() {
        CompilationUnit unit = torch.compile("""
                def f(x, w):
                    h = torch.tanh(x * w)
                    for i in range(3):
                        h = h * w + x
                    return h.sum()
                """);
        for (boolean isProfiling : new boolean[] {true, false}) {
            torch.getProfilingMode().put(isProfiling);
            try {
                for (int i = 0; i < 3; i++) { // the later calls are optimized
                    checkScript(unit);
                }
            } finally {
                torch.getProfilingMode().put(false);
            }
        }
    }

    private void checkScript(CompilationUnit unit) {
        Tensor x = Tensors.leaf(1, 2);
        Tensor w = Tensors.leaf(.5, .25);
        Tensor result = unit.find_function(new QualifiedName("f"))
                .apply(new IValueVector(new IValue(x), new IValue(w)))
                .toTensor();
        List<double[]> expected = Tensors.gradients(List.of(result), List.of(x, w));

        backward(result);

        assertThat(gradient(x)).containsExactly(expected.get(0));
        assertThat(gradient(w)).containsExactly(expected.get(1));
    }

    @Test
    void runsAGraphOfManyNodes() {
        Tensor x = Tensors.leaf(1, 2);
        Tensor h = x;
        for (int i = 0; i < 20_000; i++) {
            h = h.add(x);
        }
        backward(h.sum());
        assertThat(gradient(x)).containsExactly(20_001, 20_001);
    }

    private void backward(Tensor root) {
        int before = report.done;
        run(root);
        assertThat(report.failure).isNull();
        assertThat(report.done).isEqualTo(before + 1);
    }

    private void run(Tensor root) {
        report.failure = null;
        BackwardPass pass = context.begin(PassMode.SMART, GraphUse.RETAIN, report);
        pass.roots(List.of(root));
        pass.start();
    }

    private double[] gradient(Tensor leaf) {
        return Tensors.values(context.gradient(leaf).orElseThrow());
    }
}
