package io.waybill.autograd.graph;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.function.Function;
import org.bytedeco.pytorch.Tensor;

/**
 * Workers of one autograd context in one JVM, worker 0 the driver: each has a context graph, and messages between them are copies that this carries in a
 * random order.
 */
final class Cluster implements GraphWorkers, AutoCloseable {

    final List<ContextGraph> workers = new ArrayList<>();
    final Random order;
    /** Messages of backward passes that were carried: gradients, and requests to discover. */
    int gradientMessages;

    int discoverMessages;
    int passesDone;
    int passesBegun;
    Throwable failure;
    private long lastId;
    private final List<Runnable> mail = new ArrayList<>();

    Cluster(int workers, long seed) {
        for (int i = 0; i < workers; i++) {
            this.workers.add(new ContextGraph());
        }
        this.order = new Random(seed);
    }

    @Override
    public int count() {
        return workers.size();
    }

    @Override
    public List<Tensor> send(int from, int to, List<Tensor> tensors) {
        List<Tensor> arrived =
                tensors.stream().map(tensor -> tensor.detach().clone()).toList();
        List<Tensor> sent = new ArrayList<>();
        List<Tensor> connected = new ArrayList<>();
        for (int i = 0; i < tensors.size(); i++) {
            if (tensors.get(i).requires_grad()) {
                sent.add(tensors.get(i));
                connected.add(arrived.get(i));
            }
        }
        if (!sent.isEmpty()) {
            long id = ++lastId | (long) from << 48;
            workers.get(from).sent(id, sent);
            workers.get(to).received(id, from, connected);
        }
        return arrived;
    }

    Tensor send(int from, int to, Tensor tensor) {
        return send(from, to, List.of(tensor)).get(0);
    }

    @Override
    public Tensor call(int from, int to, List<Tensor> arguments, Function<List<Tensor>, Tensor> function) {
        return send(to, from, function.apply(send(from, to, arguments)));
    }

    @Override
    public void backward(PassMode mode, List<Tensor> roots) {
        backward(mode, GraphUse.RELEASE, roots.toArray(Tensor[]::new));
        if (failure != null) {
            throw new AssertionError("the pass failed", failure);
        }
    }

    @Override
    public Optional<double[]> gradient(int worker, Tensor leaf) {
        return workers.get(worker).gradient(leaf).map(Tensors::values);
    }

    /** Runs a backward pass from roots on the driver, and returns when no message is left. */
    void backward(PassMode mode, GraphUse use, Tensor... roots) {
        BackwardPass pass = pass(0, mode, use);
        List<RecvId> reached = pass.roots(List.of(roots));
        if (mode == PassMode.SMART) {
            discover(0, reached, use);
            carryAll();
        }
        pass.start();
        carryAll();
    }

    private void discover(int worker, List<RecvId> reached, GraphUse use) {
        for (RecvId recv : reached) {
            discoverMessages++;
            mail.add(() -> discover(
                    recv.worker(), pass(recv.worker(), PassMode.SMART, use).discover(recv.messageId()), use));
        }
    }

    private BackwardPass pass(int worker, PassMode mode, GraphUse use) {
        return workers.get(worker).pass().orElseGet(() -> {
            passesBegun++;
            return workers.get(worker).begin(mode, use, listener(mode, use));
        });
    }

    private PassListener listener(PassMode mode, GraphUse use) {
        return new PassListener() {
            @Override
            public void received(RecvId recv, List<Tensor> gradients) {
                gradientMessages++;
                List<Tensor> copies = copies(gradients);
                mail.add(() -> pass(recv.worker(), mode, use).feed(recv.messageId(), copies));
            }

            @Override
            public void done() {
                passesDone++;
            }

            @Override
            public void failed(Throwable cause) {
                failure = cause;
            }
        };
    }

    private static List<Tensor> copies(List<Tensor> gradients) {
        List<Tensor> copies = new ArrayList<>();
        for (Tensor gradient : gradients) {
            copies.add(gradient.defined() ? gradient.clone() : new Tensor());
        }
        return copies;
    }

    private void carryAll() {
        while (!mail.isEmpty()) {
            mail.remove(order.nextInt(mail.size())).run();
        }
    }

    @Override
    public void close() {
        workers.forEach(ContextGraph::close);
    }
}
