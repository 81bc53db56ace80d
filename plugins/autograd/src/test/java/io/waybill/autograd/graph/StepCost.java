package io.waybill.autograd.graph;

import io.waybill.torch.LibTorch;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.function.LongSupplier;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;

/**
 * What the graphs of two workers cost in one step without messages: two leaves sent, a product at the other worker, its sum differentiated, both contexts
 * closed. Prints the median of batches, in microseconds: wall-clock time, and the thread's CPU time, which other processes disturb less. Run its main method,
 * with {@code -Dwaybill.torch.natives}.
 */
public final class StepCost {

    private static final int BATCHES = 200;
    private static final int STEPS = 200;

    private StepCost() {}

    /** Measures both modes. */
    public static void main(String[] arguments) {
        new LibTorch(Path.of(System.getProperty(LibTorch.NATIVES_PROPERTY)), 1).load();
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        for (PassMode mode : PassMode.values()) {
            print(mode, "CPU", threads::getCurrentThreadCpuTime);
            print(mode, "wall-clock", System::nanoTime);
        }
    }

    private static void print(PassMode mode, String what, LongSupplier clock) {
        double[] batches = new double[BATCHES];
        for (int i = 0; i < BATCHES; i++) {
            long start = clock.getAsLong();
            for (int step = 0; step < STEPS; step++) {
                step(mode);
            }
            batches[i] = (clock.getAsLong() - start) / 1e3 / STEPS;
        }
        double[] warm = Arrays.copyOfRange(batches, BATCHES / 2, BATCHES);
        Arrays.sort(warm);
        System.out.printf("%s %s %.1f%n", mode, what, warm[warm.length / 2]);
    }

    @SuppressWarnings("try")
    private static void step(PassMode mode) {
        try (PointerScope scope = new PointerScope();
                Cluster cluster = new Cluster(2, 1)) {
            List<Tensor> there = cluster.send(0, 1, List.of(Tensors.leaf(1, 2), Tensors.leaf(3, 4)));
            Tensor back = cluster.send(1, 0, there.get(0).mul(there.get(1)));
            cluster.backward(mode, GraphUse.RELEASE, back.sum());
        }
    }
}
