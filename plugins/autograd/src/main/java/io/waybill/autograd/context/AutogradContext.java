package io.waybill.autograd.context;

import io.waybill.api.MessageId;
import io.waybill.autograd.graph.ContextGraph;
import io.waybill.torch.NativeTensors;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;

/**
 * One context in this worker: what was sent and received in it, the gradients, and which workers know of it.
 *
 * <p><b>Threads.</b> Any. <b>Lifetime.</b> Until it is released; its graph is empty then.
 */
public final class AutogradContext {

    private final long id;
    private final ContextGraph graph;
    private final Leaves leaves;
    private final Set<Integer> known = ConcurrentHashMap.newKeySet();

    /** Creates an empty context. */
    public AutogradContext(long id, ContextGraph graph, NativeTensors natives) {
        this.id = id;
        this.graph = graph;
        this.leaves = new Leaves(natives);
    }

    /** Returns the id: the worker that opened it in the high 16 bits. */
    public long id() {
        return id;
    }

    /** Returns the id of the worker whose program opened it. */
    public int driver() {
        return MessageId.worker(id);
    }

    /** Returns what this worker sent and received in it. */
    public ContextGraph graph() {
        return graph;
    }

    /** Returns the leaves among the tensors of its messages. */
    public Leaves leaves() {
        return leaves;
    }

    /** Gives up everything that libtorch keeps for it. */
    public void close() {
        graph.close();
        leaves.close();
    }

    /** Notes that a worker knows of it: one that was called, or that called. */
    public void know(int worker) {
        known.add(worker);
    }

    /** Returns the workers that know of it, in the order of their ids. */
    public Set<Integer> knownWorkers() {
        return new TreeSet<>(known);
    }
}
