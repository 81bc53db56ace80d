package io.waybill.autograd.graph;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.testing.core.Waits;
import io.waybill.torch.NodeHooks;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.FunctionPostHook;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Each native object has an owner that frees it: none is left to the garbage collector. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class NativeMemoryTest {

    private static final int PASSES = 20_000;
    /** Elements of a tensor. One that is lost in each pass is 2.5 GiB at the end, more than what the Java heap may take meanwhile. */
    private static final int LARGE = 16 * 1024;

    @RegisterExtension
    static final LibTorchLoaded TORCH = new LibTorchLoaded();

    /** Objects that earlier test classes of this JVM left to the garbage collector are not counted. */
    @BeforeEach
    void collectWhatOtherTestsLeft() {
        AtomicInteger same = new AtomicInteger();
        AtomicLong count = new AtomicLong();
        Waits.until("no object is freed any more", () -> {
            System.gc();
            Pointer.deallocateReferences();
            long now = Pointer.totalCount();
            same.set(count.getAndSet(now) == now ? same.get() + 1 : 0);
            return same.get() > 5;
        });
    }

    @Test
    void isFlatOverManyContextsWithPasses() {
        steps(PASSES / 10);
        long count = Pointer.totalCount();
        long bytes = Pointer.physicalBytes();

        steps(PASSES);

        assertThat(Pointer.totalCount()).isEqualTo(count);
        assertThat(Pointer.physicalBytes())
                .isLessThan(bytes + Runtime.getRuntime().maxMemory() + (256L << 20));
    }

    private static void steps(int steps) {
        for (int i = 0; i < steps; i++) {
            step(i % 2 == 0 ? PassMode.FAST : PassMode.SMART, i);
        }
    }

    @SuppressWarnings("try")
    private static void step(PassMode mode, int seed) {
        try (PointerScope scope = new PointerScope();
                Cluster cluster = new Cluster(2, seed)) {
            Tensor x = Tensors.leaf(new double[LARGE]);
            List<Tensor> there = cluster.send(0, 1, List.of(x, x));
            Tensor back = cluster.send(1, 0, there.get(0).mul(there.get(1)));
            cluster.backward(mode, GraphUse.RELEASE, back.sum());
            assertThat(cluster.workers.get(0).gradientCount()).isEqualTo(1);
        }
    }

    @Test
    void isFreedWhenAPassFailsOrIsCancelledOrNeverFed() {
        abandon(0); // libtorch's classes make some objects once
        long count = Pointer.totalCount();
        for (int i = 0; i < 200; i++) {
            abandon(i);
        }
        assertThat(Pointer.totalCount()).isEqualTo(count);
    }

    @Test
    void isFreedWhenAHookThrowsAnError() {
        failInHook();
        long count = Pointer.totalCount();
        for (int i = 0; i < 200; i++) {
            failInHook();
        }
        assertThat(Pointer.totalCount()).isEqualTo(count);
    }

    @SuppressWarnings("try")
    private static void failInHook() {
        try (PointerScope scope = new PointerScope();
                ContextGraph context = new ContextGraph()) {
            Tensor product = Tensors.leaf(new double[LARGE]).mul(Tensors.of(new double[LARGE]));
            FunctionPostHook hook = new FunctionPostHook() {
                @Override
                public TensorVector apply(TensorVector results, TensorVector inputs) {
                    throw new AssertionError();
                }
            };
            try (NodeHooks.Registration added = NodeHooks.after(product.grad_fn(), hook)) {
                RecordedPass events = new RecordedPass();
                BackwardPass pass = context.begin(PassMode.FAST, GraphUse.RELEASE, events);
                pass.roots(List.of(product.sum()));
                pass.start();
                assertThat(events.failure)
                        .hasMessage("MulBackward0 failed: java.lang.AssertionError")
                        .hasCauseInstanceOf(AssertionError.class);
            }
        }
    }

    /** A context with large tensors whose pass does not come to its end. */
    @SuppressWarnings("try")
    private static void abandon(int how) {
        try (PointerScope scope = new PointerScope();
                ContextGraph context = new ContextGraph()) {
            Tensor x = Tensors.leaf(new double[LARGE]);
            Tensor received = Tensors.of(new double[LARGE]);
            context.received(3, 1, List.of(received));
            Tensor product = x.mul(received);
            context.sent(1, List.of(product, x));
            context.sent(2, List.of(product));
            BackwardPass pass = context.begin(PassMode.FAST, GraphUse.RELEASE, new RecordedPass());
            pass.roots(List.of(product.sum()));
            switch (how % 4) {
                case 0 -> pass.start();
                case 1 -> pass.feed(2, List.of(Tensors.of(new double[LARGE]))); // waits behind that of message 1
                case 2 -> pass.feed(1, List.of(Tensors.of(new double[LARGE]), Tensors.of(1)));
                default -> pass.cancel();
            }
        }
    }
}
