package io.waybill.autograd.graph;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorBase;
import org.bytedeco.pytorch.TensorTensorHook;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

@Timeout(value = 2, unit = TimeUnit.MINUTES)
class ConcurrentPassesTest {

    private static final int THREADS = 4;
    private static final int SENDS = 40;

    @RegisterExtension
    static final LibTorchLoaded TORCH = new LibTorchLoaded();

    private final ConcurrentLinkedQueue<Throwable> failures = new ConcurrentLinkedQueue<>();

    @Test
    void computesPassesOfSeveralContextsAtOnceOverOneParameter() throws InterruptedException {
        Tensor shared = Tensors.leaf(1, 2);
        onThreads(thread -> {
            for (int i = 0; i < 50; i++) {
                try (Cluster cluster = new Cluster(3, thread)) {
                    Tensor there = cluster.send(0, 1, shared);
                    Tensor further = cluster.send(1, 2, there.mul(new Scalar(thread + 1.0)));
                    Tensor back = cluster.send(2, 0, further.mul(further));
                    cluster.backward(
                            PassMode.SMART, GraphUse.RELEASE, back.add(shared).sum());
                    double square = 2 * Math.pow(thread + 1, 2);
                    assertThat(Tensors.values(
                                    cluster.workers.get(0).gradient(shared).orElseThrow()))
                            .containsExactly(square + 1, 2 * square + 1);
                }
            }
        });
    }

    /** Gradients arrive on several threads in any order: one thread computes at a time, and the sums have the same bits. */
    @Test
    void takesGradientsFromSeveralThreads() throws InterruptedException {
        String first = null;
        for (int round = 0; round < 20; round++) {
            String bits = feedFromThreads();
            assertThat(bits).isEqualTo(first == null ? bits : first);
            first = bits;
        }
    }

    private String feedFromThreads() throws InterruptedException {
        try (ContextGraph context = new ContextGraph()) {
            Tensor x = Tensors.leaf(0.1, 0.2);
            Tensor h = x.sin();
            List<Tensor> gradients = new ArrayList<>();
            for (int i = 0; i < SENDS; i++) {
                context.sent(i, List.of(i % 2 == 0 ? h.mul(new Scalar(1.0 / (i + 3))) : x));
                gradients.add(Tensors.of(1.0 / (i + 1), Math.sqrt(i)));
            }
            RecordedPass report = new RecordedPass();
            BackwardPass pass = context.begin(PassMode.FAST, GraphUse.RELEASE, report);
            AtomicInteger next = new AtomicInteger();
            onThreads(thread -> {
                for (int i = next.getAndIncrement(); i < SENDS; i = next.getAndIncrement()) {
                    pass.feed(i, List.of(gradients.get(i)));
                }
            });
            assertThat(report.done).isEqualTo(1);
            double[] sum = Tensors.values(context.gradient(x).orElseThrow());
            return Long.toHexString(Double.doubleToRawLongBits(sum[0]))
                    + Long.toHexString(Double.doubleToRawLongBits(sum[1]));
        }
    }

    /** While a node runs on one thread, another one that brings gradients neither waits nor computes. */
    @Test
    void leavesTheWorkToTheThreadThatComputes() throws InterruptedException {
        CountDownLatch isInside = new CountDownLatch(1);
        CountDownLatch isFed = new CountDownLatch(1);
        List<Thread> ran = Collections.synchronizedList(new ArrayList<>());
        Tensor x = Tensors.leaf(1, 2);
        try (ContextGraph context = new ContextGraph();
                TensorTensorHook slow = hook(ran, isInside, isFed);
                TensorTensorHook fast = hook(ran, new CountDownLatch(0), new CountDownLatch(0))) {
            Tensor first = x.mul(new Scalar(2));
            Tensor second = x.mul(new Scalar(3));
            first.register_hook(slow);
            second.register_hook(fast);
            context.sent(1, List.of(first));
            context.sent(2, List.of(second));
            RecordedPass report = new RecordedPass();
            BackwardPass pass = context.begin(PassMode.FAST, GraphUse.RELEASE, report);
            Thread computing =
                    new Thread(() -> run(thread -> pass.feed(1, List.of(Tensors.of(1, 1))), 0, new CountDownLatch(0)));
            computing.start();
            assertThat(isInside.await(30, TimeUnit.SECONDS)).isTrue();

            pass.feed(2, List.of(Tensors.of(1, 1)));

            assertThat(ran).as("hooks run while another node runs").isEmpty();
            isFed.countDown();
            computing.join();
            assertThat(failures).isEmpty();
            assertThat(report.failure).isNull();
            assertThat(report.done).isEqualTo(1);
            assertThat(ran).containsExactly(computing, computing);
        }
    }

    private static TensorTensorHook hook(List<Thread> ran, CountDownLatch isInside, CountDownLatch isFed) {
        return new TensorTensorHook() {
            @Override
            public TensorBase call(TensorBase gradient) {
                isInside.countDown();
                try {
                    assertThat(isFed.await(30, TimeUnit.SECONDS)).isTrue();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
                ran.add(Thread.currentThread());
                return new Tensor(gradient).mul(new Scalar(1));
            }
        };
    }

    @Test
    void canBeCancelledByAnotherThreadAtAnyTime() throws InterruptedException {
        for (int round = 0; round < 30; round++) {
            ContextGraph context = new ContextGraph();
            Tensor x = Tensors.leaf(1, 2);
            Tensor h = x;
            for (int i = 0; i < 300; i++) {
                h = h.mul(x);
            }
            BackwardPass pass = context.begin(PassMode.SMART, GraphUse.RELEASE, new RecordedPass());
            pass.roots(List.of(h.sum()));
            AtomicInteger next = new AtomicInteger();
            onThreads(thread -> {
                if (next.getAndIncrement() == 0) {
                    try {
                        pass.start();
                    } catch (IllegalStateException e) {
                        assertThat(e).hasMessage("the backward pass has ended");
                    }
                } else {
                    context.close();
                }
            });
            assertThat(pass.isEnded()).isTrue();
        }
    }

    /** What one of the threads does, in a scope of its own. */
    private interface Task {
        void run(int thread);
    }

    private void onThreads(Task task) throws InterruptedException {
        CountDownLatch start = new CountDownLatch(1);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            int number = i;
            threads.add(new Thread(() -> run(task, number, start)));
        }
        threads.forEach(Thread::start);
        start.countDown();
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(failures).isEmpty();
    }

    @SuppressWarnings("try")
    private void run(Task task, int number, CountDownLatch start) {
        try (PointerScope scope = new PointerScope()) {
            start.await();
            task.run(number);
        } catch (Throwable e) {
            failures.add(e);
        }
    }
}
