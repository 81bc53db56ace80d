package io.waybill.autograd.graph;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A thread that may compute only briefly, as the one that polls: what is long is left to another one. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class HandOverTest {

    private static final long ID = 7;
    private static final int LARGE = 20_000;

    @RegisterExtension
    static final LibTorchLoaded TORCH = new LibTorchLoaded();

    /** Keeps what is handed over until the test runs it. */
    private static final class Brief implements PassListener {

        final List<Runnable> rests = new ArrayList<>();
        boolean isBrief = true;
        boolean mayHandOver = true;
        int done;
        Throwable failure;

        @Override
        public boolean isBrief() {
            return isBrief;
        }

        @Override
        public void handOver(Runnable rest) {
            if (!mayHandOver) {
                throw new IllegalStateException("there is no thread");
            }
            rests.add(rest);
        }

        @Override
        public void received(RecvId recv, List<Tensor> gradients) {}

        @Override
        public void done() {
            done++;
        }

        @Override
        public void failed(Throwable cause) {
            failure = cause;
        }
    }

    private static Tensor ones(int size) {
        Tensor leaf = torch.ones(size);
        leaf.set_requires_grad(true);
        return leaf;
    }

    /** A chain of operators after a leaf, and a pass that is fed at its end. */
    @SuppressWarnings("try")
    private static Brief fed(ContextGraph context, Tensor leaf, int operators, Brief report) {
        try (PointerScope scope = new PointerScope()) {
            Tensor sent = leaf;
            for (int i = 0; i < operators; i++) {
                sent = sent.mul(new Scalar(1.0));
            }
            context.sent(ID, List.of(sent));
            context.begin(PassMode.FAST, GraphUse.RELEASE, report).feed(ID, List.of(torch.ones_like(sent)));
        }
        return report;
    }

    @Test
    void computesLittleAtOnce() {
        Tensor leaf = ones(2);
        try (ContextGraph context = new ContextGraph()) {
            Brief report = fed(context, leaf, 10, new Brief());
            assertThat(report.rests).as("what is handed over").isEmpty();
            assertThat(report.done).isEqualTo(1);
            assertThat(Tensors.values(context.gradient(leaf).orElseThrow())).containsExactly(1, 1);
        }
    }

    @Test
    void handsOverLargeGradients() {
        Tensor leaf = ones(LARGE);
        try (ContextGraph context = new ContextGraph()) {
            Brief report = fed(context, leaf, 3, new Brief());
            assertThat(report.done)
                    .as("computed by a thread that has little time")
                    .isZero();
            assertThat(report.rests).as("what is handed over").hasSize(1);
            report.isBrief = false;
            report.rests.get(0).run();
            assertThat(report.failure).isNull();
            assertThat(report.done).isEqualTo(1);
            assertThat(Tensors.values(context.gradient(leaf).orElseThrow()))
                    .hasSize(LARGE)
                    .containsOnly(1);
        }
    }

    @Test
    void handsOverManyNodes() {
        Tensor leaf = ones(2);
        try (ContextGraph context = new ContextGraph()) {
            Brief report = fed(context, leaf, 200, new Brief());
            while (report.done == 0 && report.failure == null) {
                assertThat(report.rests).as("what is handed over").hasSize(1);
                report.rests.remove(0).run();
            }
            assertThat(report.failure).isNull();
            assertThat(Tensors.values(context.gradient(leaf).orElseThrow())).containsExactly(1, 1);
        }
    }

    @Test
    void freesWhatWasHandedOverWhenItIsCancelled() {
        Tensor leaf = ones(LARGE);
        Brief report;
        try (ContextGraph context = new ContextGraph()) {
            report = fed(context, leaf, 3, new Brief());
            assertThat(report.rests).hasSize(1);
        }
        report.rests.get(0).run(); // too late: reads nothing of what was freed
        assertThat(report.done).isZero();
        assertThat(report.failure).isNull();
    }

    @Test
    void failsWhenNoThreadTakesIt() {
        Tensor leaf = ones(LARGE);
        try (ContextGraph context = new ContextGraph()) {
            Brief report = new Brief();
            report.mayHandOver = false;
            fed(context, leaf, 3, report);
            assertThat(report.failure).hasMessage("there is no thread");
            assertThat(context.pass()).as("the pass that runs").isEmpty();
        }
    }
}
