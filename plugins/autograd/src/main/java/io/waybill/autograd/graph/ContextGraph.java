package io.waybill.autograd.graph;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.Node;
import org.bytedeco.pytorch.Tensor;

/**
 * State of one autograd context in one worker: its sent and received tensors, by message, and the gradients of its
 * leaves.
 *
 * <p><b>Threads.</b> Any. <b>Ownership.</b> The caller owns the tensors that it passes; returned tensors are new
 * objects, which the caller's {@code PointerScope} or the garbage collector frees. {@link #close} frees the objects of
 * this class.
 */
public final class ContextGraph implements AutoCloseable {

    private final ReentrantLock lock = new ReentrantLock();
    private final Map<Long, SendFunction> sends = new HashMap<>(); // guarded by lock, like all fields below
    private final Map<Long, RecvFunction> recvs = new HashMap<>();
    private final Map<Long, RecvFunction> hosts = new HashMap<>(); // by the address of their node
    private final List<SendFunction> unsent = new ArrayList<>(0);
    private final Gradients gradients = new Gradients();
    private BackwardPass pass;
    private long bytes;
    private boolean isClosed;

    /**
     * Records a sent message. The graph of its tensors stays until {@link #close}.
     *
     * @param messageId the autograd message id, which is new in this context
     * @param tensors those of the message that require grad
     * @throws IllegalArgumentException when there are none, one does not require grad, or the message is known
     * @throws IllegalStateException when this is closed
     */
    public void sent(long messageId, List<Tensor> tensors) {
        SendFunction send = SendFunction.of(messageId, tensors);
        lock.lock();
        try {
            requireNew(messageId, sends, "sent");
            sends.put(messageId, send);
            bytes += bytes(tensors);
        } catch (RuntimeException e) {
            send.close();
            throw e;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Records a received message, and connects its tensors to this context: a backward pass that reaches them computes
     * their gradients for the sender. They may then be modified in place.
     *
     * @param messageId the autograd message id, which is new in this context
     * @param worker the sender
     * @param tensors those of the message that require grad, which no operator has used; on return they are connected
     * @throws IllegalArgumentException when the message is known
     * @throws IllegalStateException when this is closed
     */
    public void received(long messageId, int worker, List<Tensor> tensors) {
        RecvFunction recv = RecvFunction.hang(new RecvId(messageId, worker), tensors);
        lock.lock();
        try {
            requireNew(messageId, recvs, "received");
            recvs.put(messageId, recv);
            hosts.put(recv.node.address(), recv);
            bytes += bytes(tensors);
        } catch (RuntimeException e) {
            recv.close();
            throw e;
        } finally {
            lock.unlock();
        }
    }

    /** Returns whether a message with this id was {@linkplain #sent sent}. */
    public boolean isSent(long messageId) {
        lock.lock();
        try {
            return sends.containsKey(messageId);
        } finally {
            lock.unlock();
        }
    }

    /** Removes a message that was recorded by {@link #sent} and did not arrive: no pass waits for its gradients. */
    public void unsent(long messageId) {
        lock.lock();
        try {
            SendFunction send = sends.remove(messageId);
            if (send != null) {
                unsent.add(send); // a pass may use it
            }
        } finally {
            lock.unlock();
        }
    }

    private void requireNew(long messageId, Map<Long, ?> known, String what) {
        if (isClosed) {
            throw closed();
        }
        if (known.containsKey(messageId)) {
            throw new IllegalArgumentException("message " + messageId + " was " + what + " before in this context");
        }
    }

    private static long bytes(List<Tensor> tensors) {
        long sum = 0;
        for (Tensor tensor : tensors) {
            sum += tensor.is_sparse() ? tensor._values().nbytes() : tensor.nbytes();
        }
        return sum;
    }

    /**
     * Lists a leaf in {@link #gradients()}, also if its tensor can't be read from libtorch's node. Sent leaves are
     * always listed.
     *
     * @throws IllegalArgumentException when the tensor was computed, or does not require grad
     */
    public void leaf(Tensor leaf) {
        Node accumulator = requireLeaf(leaf);
        try {
            gradients.leaf(accumulator, leaf);
        } finally {
            Pointers.free(accumulator);
        }
    }

    /** Returns the leaves that have a gradient, in the order of their first record. */
    public List<LeafGradient> gradients() {
        return gradients.list();
    }

    /**
     * Returns the gradient of any leaf; empty if no pass has reached it.
     *
     * @throws IllegalArgumentException when the tensor was computed, or does not require grad
     */
    public Optional<Tensor> gradient(Tensor leaf) {
        Node accumulator = requireLeaf(leaf);
        try {
            return gradients.find(accumulator);
        } finally {
            Pointers.free(accumulator);
        }
    }

    private static Node requireLeaf(Tensor leaf) {
        if (!leaf.requires_grad() || !leaf.is_leaf()) {
            throw new IllegalArgumentException("a leaf requires grad and was not computed, and this tensor "
                    + (leaf.requires_grad() ? "was computed" : "does not require grad"));
        }
        return Pointers.accumulator(leaf);
    }

    /**
     * Creates the backward pass of this context. There is one at a time.
     *
     * @throws IllegalStateException when another one has not ended, or this is closed
     */
    public BackwardPass begin(PassMode mode, GraphUse use, PassListener listener) {
        lock.lock();
        try {
            if (isClosed) {
                throw closed();
            }
            if (pass != null && !pass.isEnded()) {
                throw new IllegalStateException("a backward pass of this context is in progress");
            }
            pass = new BackwardPass(this, mode, use, listener);
            return pass;
        } finally {
            lock.unlock();
        }
    }

    /** Returns the backward pass that is not complete. */
    public Optional<BackwardPass> pass() {
        lock.lock();
        try {
            return Optional.ofNullable(pass);
        } finally {
            lock.unlock();
        }
    }

    /** Returns the number of messages with send functions. */
    public int sendCount() {
        lock.lock();
        try {
            return sends.size();
        } finally {
            lock.unlock();
        }
    }

    /** Returns the number of messages with receive functions. */
    public int recvCount() {
        lock.lock();
        try {
            return recvs.size();
        } finally {
            lock.unlock();
        }
    }

    /** Returns the messages that were received from a worker. */
    public List<RecvId> received(int worker) {
        lock.lock();
        try {
            return recvs.values().stream()
                    .map(recv -> recv.id)
                    .filter(id -> id.worker() == worker)
                    .toList();
        } finally {
            lock.unlock();
        }
    }

    /** Returns the number of leaves with a gradient. */
    public int gradientCount() {
        return gradients.size();
    }

    /** Returns the size of all sent and received tensors, in bytes. */
    public long bytes() {
        lock.lock();
        try {
            return bytes;
        } finally {
            lock.unlock();
        }
    }

    /** Cancels the pass, transfers the whole state to another version of this bundle, and closes this object. */
    public GraphArchive archive() {
        BackwardPass running = markClosed();
        if (running != null) {
            running.cancel();
        }
        GraphArchive.Writer writer = new GraphArchive.Writer();
        lock.lock();
        try {
            sends.values().forEach(send -> send.archive(writer));
            recvs.values().forEach(recv -> recv.archive(writer));
            gradients.archive(writer);
            unsent.forEach(SendFunction::close);
            unsent.clear();
            sends.clear();
            recvs.clear();
            hosts.clear();
            return writer.end(bytes);
        } finally {
            lock.unlock();
        }
    }

    /** Restores the state that {@link #archive} transferred, in this or another version. */
    public static ContextGraph restored(GraphArchive archive) {
        ContextGraph graph = new ContextGraph();
        Iterator<Pointer> natives = archive.pointers();
        graph.lock.lock();
        try {
            for (List<Long> fields : archive.sends()) {
                graph.sends.put(fields.get(0), SendFunction.restored(fields, natives));
            }
            for (List<Long> fields : archive.recvs()) {
                RecvFunction recv = RecvFunction.restored(fields, natives);
                graph.recvs.put(fields.get(0), recv);
                graph.hosts.put(recv.node.address(), recv);
            }
            for (int i = 0; i < archive.leafCount(); i++) {
                graph.gradients.restore(natives);
            }
            graph.bytes = archive.bytes();
            return graph;
        } finally {
            graph.lock.unlock();
        }
    }

    /** Cancels the pass and frees all objects; a running node is freed when it returns. Idempotent. */
    @Override
    public void close() {
        BackwardPass running = markClosed();
        if (running != null) {
            running.cancel(); // after this it does not access the objects that are freed below
        }
        lock.lock();
        try {
            sends.values().forEach(SendFunction::close);
            unsent.forEach(SendFunction::close);
            unsent.clear();
            recvs.values().forEach(RecvFunction::close);
            sends.clear();
            recvs.clear();
            hosts.clear();
            gradients.close();
        } finally {
            lock.unlock();
        }
    }

    private BackwardPass markClosed() {
        lock.lock();
        try {
            isClosed = true;
            return pass;
        } finally {
            lock.unlock();
        }
    }

    RecvFunction recvOn(long address) {
        lock.lock();
        try {
            return hosts.get(address);
        } finally {
            lock.unlock();
        }
    }

    PassEntry send(long messageId) {
        lock.lock();
        try {
            requireSent(messageId);
            return entry(sends.get(messageId));
        } finally {
            lock.unlock();
        }
    }

    /** Throws unless the message was sent. */
    void requireSent(long messageId) {
        lock.lock();
        try {
            if (!sends.containsKey(messageId)) {
                throw new UnknownSendException(messageId);
            }
        } finally {
            lock.unlock();
        }
    }

    List<PassEntry> sends() {
        lock.lock();
        try {
            List<PassEntry> entries = new ArrayList<>(sends.size());
            sends.values().forEach(send -> entries.add(entry(send)));
            return entries;
        } finally {
            lock.unlock();
        }
    }

    private PassEntry entry(SendFunction send) {
        return PassEntry.of(send.messageId, send.edges(gradients));
    }

    Gradients gradientTable() {
        return gradients;
    }

    void ended(BackwardPass ended) {
        lock.lock();
        try {
            pass = pass == ended ? null : pass;
        } finally {
            lock.unlock();
        }
    }

    static IllegalStateException closed() {
        return new IllegalStateException("this autograd context is closed");
    }
}
