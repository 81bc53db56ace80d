package io.waybill.autograd.graph;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.bytedeco.pytorch.GradMode;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

@Timeout(value = 2, unit = TimeUnit.MINUTES)
class BackwardPassTest {

    @RegisterExtension
    static final LibTorchLoaded TORCH = new LibTorchLoaded();

    private final ContextGraph context = new ContextGraph();
    private final RecordedPass report = new RecordedPass();

    @AfterEach
    void close() {
        context.close();
    }

    @Test
    void differentiatesAnOperatorThatRanElsewhere() {
        for (PassMode mode : PassMode.values()) {
            try (Cluster cluster = new Cluster(2, 1)) {
                Tensor x = Tensors.leaf(1, 2);
                Tensor y = Tensors.leaf(3, 4);
                List<Tensor> there = cluster.send(0, 1, List.of(x, y));
                Tensor back = cluster.send(1, 0, there.get(0).mul(there.get(1)));

                cluster.backward(mode, GraphUse.RELEASE, back.sum());

                assertThat(cluster.failure).isNull();
                assertThat(cluster.passesDone).isEqualTo(2);
                assertThat(gradient(cluster.workers.get(0), x)).containsExactly(3, 4);
                assertThat(gradient(cluster.workers.get(0), y)).containsExactly(1, 2);
                assertThat(x.grad().defined()).isFalse();
            }
        }
    }

    @Test
    void needsOneMessageForEachExchange() {
        for (PassMode mode : PassMode.values()) {
            try (Cluster cluster = new Cluster(2, 1)) {
                Tensor x = Tensors.leaf(1, 2);
                Tensor h = x;
                for (int i = 0; i < 20; i++) { // each value is used here and sent: 2^20 paths
                    Tensor there = cluster.send(0, 1, h);
                    h = h.mul(new Scalar(1.5)).add(cluster.send(1, 0, there.mul(new Scalar(2))));
                }

                cluster.backward(mode, GraphUse.RELEASE, h.sum());

                double expected = Math.pow(3.5, 20);
                assertThat(gradient(cluster.workers.get(0), x)).containsExactly(expected, expected);
                assertThat(cluster.gradientMessages).isEqualTo(40);
                assertThat(cluster.discoverMessages).isEqualTo(mode == PassMode.SMART ? 40 : 0);
                assertThat(cluster.passesDone).isEqualTo(2);
            }
        }
    }

    @Test
    void waitsForUnusedResultsInFastModeAlone() {
        Tensor x = Tensors.leaf(1, 2);
        context.sent(7, List.of(x.mul(x)));
        Tensor loss = x.sum();

        BackwardPass fast = begin(PassMode.FAST, GraphUse.RETAIN);
        assertThat(fast.roots(List.of(loss))).isEmpty();
        fast.start();
        assertThat(report.done).isZero();
        fast.feed(7, List.of(Tensors.of(1, 1)));
        assertThat(report.done).isEqualTo(1);

        BackwardPass smart = begin(PassMode.SMART, GraphUse.RETAIN);
        smart.roots(List.of(loss));
        smart.start();
        assertThat(report.done).isEqualTo(2);
        assertThat(gradient(context, x)).containsExactly(1 + 2 + 1, 1 + 4 + 1);
    }

    @Test
    void reportsUndefinedGradientsAsZerosInFastModeAlone() {
        Tensor p = Tensors.of(1, 2);
        Tensor q = Tensors.of(3, 4, 5);
        context.received(9, 4, List.of(p, q));
        Tensor loss = p.mul(p).sum();

        for (PassMode mode : PassMode.values()) {
            BackwardPass pass = begin(mode, GraphUse.RETAIN);
            assertThat(pass.roots(List.of(loss)))
                    .isEqualTo(mode == PassMode.SMART ? List.of(new RecvId(9, 4)) : List.of());
            pass.start();
        }

        assertThat(report.received).containsExactly(new RecvId(9, 4), new RecvId(9, 4));
        assertThat(report.gradients.get(0).get(1)).containsExactly(0, 0, 0);
        assertThat(report.gradients.get(1).get(1)).isNull();
        assertThat(report.gradients.get(1).get(0)).containsExactly(2, 4);
    }

    @Test
    void addsTheGradientsOfSeveralRootsAndPasses() {
        Tensor x = Tensors.leaf(1, 2);
        context.leaf(x);
        Tensor a = x.mul(x).sum();
        Tensor b = x.sum();
        for (int i = 0; i < 2; i++) {
            BackwardPass pass = begin(PassMode.SMART, GraphUse.RETAIN);
            pass.roots(List.of(a, b, a));
            pass.start();
        }

        assertThat(gradient(context, x)).containsExactly(2 * (2 * 2 + 1), 2 * (2 * 4 + 1));
        assertThat(context.gradientCount()).isEqualTo(1);
        LeafGradient listed = context.gradients().get(0);
        assertThat(listed.leaf().is_same(x)).isTrue();
        assertThat(listed.gradient().requires_grad())
                .as("grad mode is off in a pass")
                .isFalse();
        assertThat(Tensors.values(listed.gradient())).containsExactly(10, 18);
    }

    @Test
    void listsTheTensorsOfItsLeaves() {
        Tensor x = Tensors.leaf(1, 2);
        Tensor y = Tensors.leaf(3, 4);
        BackwardPass pass = begin(PassMode.SMART, GraphUse.RELEASE);
        pass.roots(List.of(x.mul(y).sum()));
        pass.start();

        assertThat(context.gradients()).as("leaves with gradients").hasSize(2);
        for (LeafGradient each : context.gradients()) {
            assertThat(each.leaf().is_same(x) || each.leaf().is_same(y))
                    .as("the leaf is the tensor that was used, and not another one with its elements")
                    .isTrue();
            assertThat(Tensors.values(each.gradient()))
                    .isEqualTo(Tensors.values(each.leaf().is_same(x) ? y : x));
        }
    }

    @Test
    void failsOnAGraphThatWasReleasedAndLeavesTheContextUsable() {
        Tensor x = Tensors.leaf(1, 2);
        Tensor loss = x.mul(x).sum();
        for (int i = 0; i < 50; i++) {
            BackwardPass pass = begin(PassMode.SMART, GraphUse.RELEASE);
            pass.roots(List.of(loss));
            pass.start();
            assertThat(report.done).isEqualTo(1);
            assertThat(pass.isEnded()).isTrue();
        }
        assertThat(report.failure)
                .isInstanceOf(BackwardException.class)
                .hasMessageStartingWith("MulBackward0 failed: Trying to backward through the graph a second time")
                .hasMessageNotContaining("\n");
        assertThat(gradient(context, x)).containsExactly(2, 4);
        assertThat(context.pass()).isEmpty();
    }

    @Test
    void refusesRootsThatCannotBeDifferentiated() {
        Tensor x = Tensors.leaf(1, 2);
        BackwardPass pass = begin(PassMode.SMART, GraphUse.RELEASE);
        assertRefused(pass, List.of(), "No tensors provided for gradient computation.");
        assertRefused(pass, List.of(Tensors.of(1)), "requires_grad not set on root");
        assertRefused(pass, List.of(x.mul(x)), "root 0 is not a scalar, all roots need to be scalar");
        assertRefused(pass, List.of(x.sum(), Tensors.leaf(1)), "root 1 does not have a valid gradient function.");
        assertThatThrownBy(pass::start).isInstanceOf(IllegalStateException.class);

        pass.roots(List.of(x.sum()));
        assertThatThrownBy(() -> pass.roots(List.of(x.sum()))).isInstanceOf(IllegalStateException.class);
        pass.start();
        assertThat(gradient(context, x)).containsExactly(1, 1);
    }

    private static void assertRefused(BackwardPass pass, List<Tensor> roots, String text) {
        assertThatThrownBy(() -> pass.roots(roots))
                .isInstanceOf(BackwardException.class)
                .hasMessageContaining(text);
    }

    @Test
    void failsWhenGradientsDoNotFit() {
        Tensor x = Tensors.leaf(1, 2);
        context.sent(7, List.of(x.mul(x), x));

        begin(PassMode.FAST, GraphUse.RETAIN).feed(7, List.of(Tensors.of(1, 2, 3), Tensors.of(1, 1)));
        assertThat(report.failure)
                .isInstanceOf(GradientMismatchException.class)
                .hasMessage("gradient 0 of message 7 has a wrong shape: expected [2], found [3]");

        begin(PassMode.FAST, GraphUse.RETAIN).feed(7, List.of(Tensors.of(1, 1)));
        assertThat(report.failure)
                .isInstanceOf(GradientMismatchException.class)
                .hasMessage("message 7 has a wrong number of gradients: expected 2, found 1");
        assertThat(context.pass()).isEmpty();

        begin(PassMode.FAST, GraphUse.RETAIN).feed(7, List.of(Tensors.of(1, 1), new Tensor()));
        assertThat(report.done).isEqualTo(1);
        assertThat(gradient(context, x)).containsExactly(2, 4);
    }

    @Test
    void refusesGradientsOfUnknownMessagesAndGoesOn() {
        Tensor x = Tensors.leaf(1, 2);
        context.sent(7, List.of(x));
        context.sent(8, List.of(x));
        BackwardPass pass = begin(PassMode.SMART, GraphUse.RELEASE);
        assertThat(pass.discover(7)).isEmpty();
        assertThat(pass.discover(7)).isEmpty();

        assertThatThrownBy(() -> pass.discover(6))
                .isInstanceOf(UnknownSendException.class)
                .hasMessage("Could not find send function for autograd message id: 6");
        assertThatThrownBy(() -> pass.feed(6, List.of())).isInstanceOf(UnknownSendException.class);
        assertThatThrownBy(() -> pass.feed(8, List.of(Tensors.of(1, 1))))
                .hasMessage("message 8 takes no part in this backward pass");
        assertThatThrownBy(() -> pass.discover(8)).isInstanceOf(IllegalStateException.class);

        pass.feed(7, List.of(Tensors.of(3, 4)));
        assertThat(report.done).isEqualTo(1);
        assertThat(gradient(context, x)).containsExactly(3, 4);
        assertThatThrownBy(() -> pass.feed(7, List.of(Tensors.of(1, 1)))).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void takesGradientsThatRequireGradWithoutTheirGraph() {
        Tensor x = Tensors.leaf(1, 2);
        context.sent(7, List.of(x));
        BackwardPass pass = begin(PassMode.FAST, GraphUse.RELEASE);

        pass.feed(7, List.of(Tensors.leaf(3, 4)));

        assertThat(context.gradient(x).orElseThrow().requires_grad()).isFalse();
        assertThat(gradient(context, x)).containsExactly(3, 4);
    }

    @Test
    void refusesTheGradientsOfAMessageTwice() {
        Tensor x = Tensors.leaf(1, 2);
        context.sent(7, List.of(x));
        context.sent(8, List.of(x));
        BackwardPass pass = begin(PassMode.FAST, GraphUse.RELEASE);
        pass.feed(7, List.of(Tensors.of(3, 4)));

        assertThatThrownBy(() -> pass.feed(7, List.of(Tensors.of(3, 4))))
                .hasMessage("the gradients of message 7 arrived twice");

        pass.feed(8, List.of(Tensors.of(1, 1)));
        assertThat(gradient(context, x)).containsExactly(4, 5);
    }

    @Test
    void runsOnePassAtATime() {
        BackwardPass pass = begin(PassMode.FAST, GraphUse.RELEASE);
        assertThat(context.pass()).contains(pass);
        assertThatThrownBy(() -> begin(PassMode.FAST, GraphUse.RELEASE))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("in progress");

        pass.cancel();

        assertThat(pass.isEnded()).isTrue();
        begin(PassMode.FAST, GraphUse.RELEASE);
    }

    @Test
    void endsWithoutACallbackWhenItIsCancelledOrItsContextCloses() {
        Tensor x = Tensors.leaf(1, 2);
        context.sent(7, List.of(x));
        BackwardPass pass = begin(PassMode.FAST, GraphUse.RELEASE);
        pass.roots(List.of(x.mul(x).sum()));
        pass.start();

        context.close();
        context.close();

        assertThat(pass.isEnded()).isTrue();
        assertThat(report.done).isZero();
        assertThat(report.failure).isNull();
        assertThatThrownBy(() -> pass.feed(7, List.of(Tensors.of(1, 1)))).hasMessage("the backward pass has ended");
        assertThatThrownBy(() -> context.sent(8, List.of(x))).hasMessage("this autograd context is closed");
        assertThatThrownBy(() -> context.received(8, 1, List.of(Tensors.of(1))))
                .hasMessage("this autograd context is closed");
        assertThatThrownBy(() -> begin(PassMode.FAST, GraphUse.RELEASE)).hasMessage("this autograd context is closed");
    }

    @Test
    void survivesAContextThatIsClosedByACallback() {
        Tensor p = Tensors.of(1, 2);
        context.received(9, 4, List.of(p));
        Tensor x = Tensors.leaf(3, 4);
        Tensor loss = p.mul(x).sum();
        BackwardPass pass = context.begin(PassMode.SMART, GraphUse.RELEASE, new PassListener() {
            @Override
            public void received(RecvId recv, List<Tensor> gradients) {
                context.close();
            }

            @Override
            public void done() {
                report.done();
            }

            @Override
            public void failed(Throwable cause) {
                report.failed(cause);
            }
        });
        pass.roots(List.of(loss));
        pass.start();

        assertThat(pass.isEnded()).isTrue();
        assertThat(report.done).isZero();
        assertThat(report.failure).isNull();
    }

    @Test
    void failsWithWhatACallbackThrows() {
        Tensor p = Tensors.of(1, 2);
        context.received(9, 4, List.of(p));
        IllegalStateException thrown = new IllegalStateException("no such worker");
        BackwardPass pass = context.begin(PassMode.SMART, GraphUse.RELEASE, new PassListener() {
            @Override
            public void received(RecvId recv, List<Tensor> gradients) {
                throw thrown;
            }

            @Override
            public void done() {
                report.done();
            }

            @Override
            public void failed(Throwable cause) {
                report.failed(cause);
            }
        });
        pass.roots(List.of(p.sum()));
        pass.start();

        assertThat(report.failure).isSameAs(thrown);
        assertThat(report.done).isZero();
    }

    @Test
    void leavesGradModeAsItWas() {
        Tensor x = Tensors.leaf(1, 2);
        for (boolean isEnabled : new boolean[] {true, false}) {
            Tensor loss = x.mul(x).sum();
            GradMode.set_enabled(isEnabled);
            try {
                context.sent(isEnabled ? 1 : 2, List.of(x));
                BackwardPass pass = begin(PassMode.SMART, GraphUse.RELEASE);
                pass.roots(List.of(loss));
                pass.start();
                assertThat(GradMode.is_enabled()).isEqualTo(isEnabled);
            } finally {
                GradMode.set_enabled(true);
            }
        }
        assertThat(report.done).isEqualTo(2);
    }

    @Test
    void refusesTensorsThatWereReceivedInAnotherContext() {
        try (ContextGraph other = new ContextGraph()) {
            Tensor p = Tensors.of(1, 2);
            other.received(9, 4, List.of(p));
            BackwardPass pass = begin(PassMode.SMART, GraphUse.RELEASE);
            Tensor loss = p.mul(Tensors.leaf(1, 2)).sum();

            assertThatThrownBy(() -> pass.roots(List.of(loss)))
                    .isInstanceOf(BackwardException.class)
                    .hasMessageContaining("received in another context");
        }
    }

    @Test
    void countsMessagesAndBytes() {
        Tensor x = Tensors.leaf(1, 2);
        context.sent(1, List.of(x, x.mul(x)));
        context.received(2, 3, List.of(Tensors.of(1, 2, 3)));

        assertThat(context.sendCount()).isEqualTo(1);
        assertThat(context.recvCount()).isEqualTo(1);
        assertThat(context.bytes()).isEqualTo(8 * (2 + 2 + 3));
        assertThatThrownBy(() -> context.sent(1, List.of(x))).hasMessageContaining("message 1 was sent before");
        assertThatThrownBy(() -> context.received(2, 3, List.of(Tensors.of(1))))
                .hasMessageContaining("received before");
        assertThatThrownBy(() -> context.sent(3, List.of(Tensors.of(1)))).hasMessageContaining("does not");
        assertThatThrownBy(() -> context.sent(3, List.of())).hasMessageContaining("no tensors");
        assertThatThrownBy(() -> context.leaf(x.mul(x))).hasMessageContaining("was computed");
        assertThatThrownBy(() -> context.gradient(Tensors.of(1))).hasMessageContaining("does not require grad");
        assertThat(context.gradient(x)).isEmpty();
    }

    private BackwardPass begin(PassMode mode, GraphUse use) {
        return context.begin(mode, use, report);
    }

    private static double[] gradient(ContextGraph context, Tensor leaf) {
        return Tensors.values(context.gradient(leaf).orElseThrow());
    }
}
