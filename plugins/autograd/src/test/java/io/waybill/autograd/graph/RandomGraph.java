package io.waybill.autograd.graph;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * A random computation over several workers, and the same one without workers, where a message is the identity. Tensors have the shape (1, 2) or (2, 2).
 */
final class RandomGraph {

    /** One tensor in both computations. */
    static final class Value {
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
    interface Operator {
        Tensor apply(Tensor x, Tensor y);
    }

    final List<Value> leaves = new ArrayList<>();
    final List<Value> roots = new ArrayList<>();
    private final Cluster cluster;
    private final Random random;
    private final boolean isMixed;
    private final List<Value> pool = new ArrayList<>();

    /**
     * Computes forwards.
     *
     * @param mode whether all messages must be used
     * @param isMixed whether some tensors have 32 bits
     */
    RandomGraph(Cluster cluster, long seed, PassMode mode, boolean isMixed) {
        this.cluster = cluster;
        this.random = new Random(seed);
        this.isMixed = isMixed;
        for (int i = 2 + random.nextInt(3); i > 0; i--) {
            addLeaf();
        }
        for (int i = 3 + random.nextInt(28); i > 0; i--) {
            step();
        }
        chooseRoots(mode);
    }

    private void addLeaf() {
        double[] values = random.doubles(random.nextBoolean() ? 2 : 4, -1, 1).toArray();
        ScalarType type = isMixed && random.nextInt(3) == 0 ? ScalarType.Float : ScalarType.Double;
        Tensor spread = Tensors.of(values).view(-1, 2).to(type).clone();
        Tensor local = spread.clone();
        spread.set_requires_grad(true);
        local.set_requires_grad(true);
        Value leaf = new Value(random.nextInt(cluster.workers.size()), spread, local);
        leaves.add(leaf);
        pool.add(leaf);
    }

    private Value any() {
        return pool.get(random.nextInt(pool.size()));
    }

    private int anyWorker() {
        return random.nextInt(cluster.workers.size());
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
        return new Value(worker, cluster.send(value.worker, worker, value.spread), local);
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
        List<Tensor> arrived = cluster.send(
                caller, callee, arguments.stream().map(value -> value.spread).toList());
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
        return carry(sum, caller, sum.local);
    }

    private void chooseRoots(PassMode mode) {
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

    /** Returns the bits of all gradients after a backward pass; null for none. */
    List<double[]> backward(PassMode mode) {
        cluster.backward(
                mode, GraphUse.RELEASE, roots.stream().map(root -> root.spread).toArray(Tensor[]::new));
        if (cluster.failure != null) {
            throw new AssertionError("the pass failed", cluster.failure);
        }
        return leaves.stream().map(this::gradient).toList();
    }

    private double[] gradient(Value leaf) {
        return cluster.workers
                .get(leaf.worker)
                .gradient(leaf.spread)
                .map(Tensors::values)
                .orElse(null);
    }

    /** Returns what libtorch computes without workers. */
    List<double[]> expected() {
        return Tensors.gradients(
                roots.stream().map(root -> root.local).toList(),
                leaves.stream().map(leaf -> leaf.local).toList());
    }
}
