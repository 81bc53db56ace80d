package io.waybill.autograd.graph;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * A random computation over several workers, and the same one without workers, where a message is the identity. Tensors have the shape (1, 2) or (2, 2).
 */
public final class RandomGraph {

    /** One tensor in both computations. */
    private static final class Value {
        final int worker;
        final Tensor spread;
        final Tensor local;
        boolean isUsed;

        Value(int worker, Tensor spread, Tensor local) {
            this.worker = worker;
            this.spread = spread;
            this.local = local;
        }
    }

    /** What an operator does, in both computations. */
    private interface Operator {
        Tensor apply(Tensor x, Tensor y);
    }

    private final List<Value> leaves = new ArrayList<>();
    private final List<Value> roots = new ArrayList<>();
    private final GraphWorkers workers;
    private final Random random;
    private final PassMode mode;
    private final boolean isMixed;
    private final List<Value> pool = new ArrayList<>();

    /**
     * Computes forwards.
     *
     * @param mode whether all messages must be used
     * @param isMixed whether some tensors have 32 bits
     */
    public RandomGraph(GraphWorkers workers, long seed, PassMode mode, boolean isMixed) {
        this.workers = workers;
        this.random = new Random(seed);
        this.mode = mode;
        this.isMixed = isMixed;
        for (int i = 2 + random.nextInt(3); i > 0; i--) {
            addLeaf();
        }
        for (int i = 3 + random.nextInt(28); i > 0; i--) {
            step();
        }
        chooseRoots();
    }

    private void addLeaf() {
        double[] values = random.doubles(random.nextBoolean() ? 2 : 4, -1, 1).toArray();
        ScalarType type = isMixed && random.nextInt(3) == 0 ? ScalarType.Float : ScalarType.Double;
        Tensor spread = Tensors.of(values).view(-1, 2).to(type).clone();
        Tensor local = spread.clone();
        spread.set_requires_grad(true);
        local.set_requires_grad(true);
        Value leaf = new Value(random.nextInt(workers.count()), spread, local);
        leaves.add(leaf);
        pool.add(leaf);
    }

    private Value any() {
        return pool.get(random.nextInt(pool.size()));
    }

    private int anyWorker() {
        return random.nextInt(workers.count());
    }

    private void step() {
        int worker = anyWorker();
        switch (random.nextInt(12)) {
            case 0 -> combine(worker, Tensor::add);
            case 1 -> combine(worker, (x, y) -> x.mul(y).sin());
            case 2 -> combine(worker, Tensor::sub);
            case 3 -> combine(worker, (x, y) -> x.sigmoid().mul(y.sum()));
            case 4 -> {
                int part = random.nextInt(2);
                combine(
                        worker,
                        (x, y) -> torch.unbind(x, 1).get(part).unsqueeze(1).add(y));
            }
            case 5 ->
                combine(worker, (x, y) -> torch.cat(new TensorVector(x, y), 0).sum(new long[] {0}, true, null));
            case 6 -> combine(worker, (x, y) -> x.sin().add(x).sub(y));
            case 7 ->
                combine(worker, (x, y) -> x.narrow(1, 0, 1).mul(new Scalar(0.5)).sub(y));
            case 8 -> changeInPlace(worker);
            case 9 -> pool.add(call(worker, 2));
            case 10 -> pool.add(call(worker, 1));
            default -> convert(worker);
        }
    }

    private void combine(int worker, Operator operator) {
        Value x = bring(any(), worker);
        Value y = random.nextInt(5) == 0 ? x : bring(any(), worker);
        pool.add(apply(operator, x, y));
    }

    private static Value apply(Operator operator, Value x, Value y) {
        x.isUsed = true;
        y.isUsed = true;
        return new Value(x.worker, operator.apply(x.spread, y.spread), operator.apply(x.local, y.local));
    }

    /** Returns the value where it is needed; what a message brought there can be used again. */
    private Value bring(Value value, int worker) {
        if (value.worker == worker) {
            return value;
        }
        Value arrived = carry(value, worker, value.local);
        pool.add(arrived);
        return arrived;
    }

    private Value carry(Value value, int worker, Tensor local) {
        value.isUsed = true;
        return new Value(
                worker,
                workers.send(value.worker, worker, List.of(value.spread)).get(0),
                local);
    }

    private void changeInPlace(int worker) {
        Value value = any();
        Value arrived = carry(value, worker, value.local.clone());
        for (Tensor tensor : List.of(arrived.spread, arrived.local)) {
            tensor.mul_(new Scalar(0.7));
            tensor.narrow(1, 1, 1).mul_(new Scalar(1.5));
        }
        pool.add(arrived);
    }

    private void convert(int worker) {
        ScalarType type = isMixed && random.nextBoolean() ? ScalarType.Float : ScalarType.Double;
        combine(worker, (x, y) -> x.to(type).add(y.mul(new Scalar(0.25))));
    }

    /** A call with several tensors in one message, some of them more than once, whose handler may make a call; returns its result. */
    private Value call(int caller, int depth) {
        int callee = anyWorker();
        List<Value> arguments = new ArrayList<>();
        for (int i = 1 + random.nextInt(3); i > 0; i--) {
            arguments.add(bring(any(), caller));
        }
        Tensor[] result = new Tensor[1]; // without workers
        Tensor spread = workers.call(
                caller, callee, arguments.stream().map(value -> value.spread).toList(), arrived -> {
                    Value sum = handle(callee, depth, arguments, arrived);
                    sum.isUsed = true;
                    result[0] = sum.local;
                    return sum.spread;
                });
        return new Value(caller, spread, result[0]);
    }

    private Value handle(int callee, int depth, List<Value> arguments, List<Tensor> arrived) {
        Value sum = null;
        for (int i = 0; i < arrived.size(); i++) {
            arguments.get(i).isUsed = true;
            Value there = new Value(callee, arrived.get(i), arguments.get(i).local);
            sum = sum == null ? there : apply((x, y) -> x.mul(new Scalar(0.9)).add(y), sum, there);
        }
        if (depth > 1 && random.nextBoolean()) {
            pool.add(sum);
            sum = apply(Tensor::add, bring(call(callee, depth - 1), callee), sum);
        }
        return sum;
    }

    private void chooseRoots() {
        for (int i = 1 + random.nextInt(3); i > 0; i--) {
            addRoot(any());
        }
        if (mode == PassMode.FAST) {
            List.copyOf(pool).stream().filter(value -> !value.isUsed).forEach(this::addRoot);
        }
    }

    private void addRoot(Value value) {
        Value here = value.worker == 0 ? value : carry(value, 0, value.local);
        roots.add(apply((x, y) -> x.sum(), here, here));
    }

    /** Returns all gradients after a backward pass; null for none. */
    public List<double[]> backward() {
        workers.backward(mode, roots.stream().map(root -> root.spread).toList());
        return leaves.stream()
                .map(leaf -> workers.gradient(leaf.worker, leaf.spread).orElse(null))
                .toList();
    }

    /**
     * Requires the gradients that libtorch computes without workers.
     *
     * @param what of an error, with the seed
     */
    public void assertGradients(List<double[]> gradients, String what) {
        List<double[]> expected = Tensors.gradients(
                roots.stream().map(root -> root.local).toList(),
                leaves.stream().map(leaf -> leaf.local).toList());
        double tolerance = isMixed ? 1e-5 : 1e-10;
        for (int i = 0; i < expected.size(); i++) {
            double[] found = gradients.get(i);
            double[] wanted = expected.get(i);
            String leaf = "gradient of leaf " + i + ", " + what;
            if (wanted == null && mode == PassMode.FAST && found != null) {
                assertThat(found).as(leaf).containsOnly(0); // what undefined gradients became on the way
            } else if (wanted == null || found == null) {
                assertThat(found).as(leaf).isEqualTo(wanted);
            } else {
                double max = Arrays.stream(wanted).map(Math::abs).max().orElse(0);
                assertThat(found)
                        .as(leaf)
                        .usingComparatorWithPrecision(tolerance * Math.max(1, max))
                        .containsExactly(wanted);
            }
        }
    }

    /** Formats gradients with all their bits. */
    public static List<String> bits(List<double[]> gradients) {
        return gradients.stream()
                .map(values -> values == null
                        ? "none"
                        : Arrays.stream(values)
                                .mapToObj(value -> Long.toHexString(Double.doubleToRawLongBits(value)))
                                .collect(Collectors.joining(" ")))
                .toList();
    }
}
