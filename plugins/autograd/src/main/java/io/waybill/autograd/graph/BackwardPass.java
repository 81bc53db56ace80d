package io.waybill.autograd.graph;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.bytedeco.pytorch.GradMode;
import org.bytedeco.pytorch.Tensor;

/**
 * The part of a backward pass that one worker computes: gradients enter it at roots and send functions, and leave it at
 * receive functions or stay as those of leaves.
 *
 * <p><b>Use.</b> In a {@link PassMode#SMART} pass, {@link #roots} and {@link #discover} find the participating
 * functions before the computation; they return the messages whose senders must discover next. Then, and in a
 * {@link PassMode#FAST} pass immediately, {@link #start} passes ones into the roots, and {@link #feed} the results of
 * other workers. After the first of these calls discovery is closed.
 *
 * <p><b>Threads.</b> Any. None is blocked until gradients arrive: {@link #start} and {@link #feed} compute all ready
 * nodes and return. If another thread is computing, they leave the work to it. A thread that may compute only briefly
 * hands the rest over ({@link PassListener#isBrief}). Grad mode is off during this time, callbacks included, and then
 * restored. <b>Ownership.</b> The caller owns the tensors that it passes; the pass owns the tensors in callbacks.
 * <b>Order.</b> Sums are computed in an order that depends only on the graph and the message ids.
 */
public final class BackwardPass {

    private enum State {
        ENTERING,
        RUNNING,
        ENDED
    }

    /** Next step of the computing thread. */
    private enum Next {
        ENTRY,
        HAND_OVER,
        PASS_ON,
        IDLE,
        DONE
    }

    private final ContextGraph context;
    private final PassMode mode;
    private final GraphUse use;
    private final PassListener listener;

    private final ReentrantLock lock = new ReentrantLock();
    private PassGraph graph; // guarded by lock until it is sealed
    private PassEntry origin; // guarded by lock: the entry that start feeds; null for none
    // guarded by lock: whether the computation leads to one message, with which the pass is passed on
    private boolean isLink;
    private final Deque<PassEntry> fed = new ArrayDeque<>(2); // guarded by lock
    private boolean isComputing; // guarded by lock: a thread has taken the work
    private boolean isHandedOver; // guarded by lock: true until another thread continues the taken work
    private NodeRunner runner; // written under lock; used by the thread that computes
    private PassEntry entry; // owned by the thread that computes
    private volatile State state = State.ENTERING; // written under lock; the computing thread checks for a cancellation

    BackwardPass(ContextGraph context, PassMode mode, GraphUse use, PassListener listener) {
        this.context = context;
        this.mode = mode;
        this.use = use;
        this.listener = listener;
        this.graph = new PassGraph(context::recvOn);
    }

    /** Returns whether the pass is done, has failed or was cancelled. */
    public boolean isEnded() {
        return state == State.ENDED;
    }

    /**
     * Sets the roots: on the worker that starts the pass.
     *
     * @param roots scalars that were computed
     * @return the messages whose gradients this pass will compute because of them; empty in a {@link PassMode#FAST}
     *     pass
     * @throws BackwardException when one can't be differentiated
     * @throws IllegalStateException when the pass has begun or ended, or has roots
     */
    public List<RecvId> roots(List<Tensor> roots) {
        lock.lock();
        try {
            require(State.ENTERING);
            if (origin != null) {
                throw new IllegalStateException("this pass has roots");
            }
            origin = Roots.entry(roots);
            return entered(origin);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Adds the send function of this message to a {@link PassMode#SMART} pass: its gradients will arrive with
     * {@link #feed}.
     *
     * @return the messages whose gradients this pass will compute because of it, without those returned before
     * @throws UnknownSendException when the message was not sent in this context
     * @throws IllegalStateException when the pass has begun or ended, or is not {@link PassMode#SMART}
     */
    public List<RecvId> discover(long messageId) {
        if (mode != PassMode.SMART) {
            throw new IllegalStateException("in a FAST pass all send functions take part");
        }
        lock.lock();
        try {
            require(State.ENTERING);
            return graph.entry(messageId) != null ? List.of() : entered(context.send(messageId));
        } finally {
            lock.unlock();
        }
    }

    /**
     * Lets a {@link PassMode#SMART} pass be passed on, if all entries lead to one received message and nowhere else,
     * and returns whether they do. Then {@link #start} or {@link #feed} ends with {@link PassListener#passOn}, after
     * which more entries are possible. They never lead to computed nodes: the dependencies of a message existed before
     * the message was received, and the computed nodes did not.
     *
     * @throws IllegalStateException when the pass has begun or ended
     */
    public boolean link() {
        lock.lock();
        try {
            require(State.ENTERING);
            isLink = mode == PassMode.SMART && graph.isLink();
            return isLink;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Keeps the gradients of a message that was {@linkplain #discover discovered} for {@link #start}.
     *
     * @param gradients as for {@link #feed}
     * @throws BackwardException if the message takes no part in this pass
     * @throws IllegalStateException when the pass has begun or ended, or has roots
     */
    public void keep(long messageId, List<Tensor> gradients) {
        lock.lock();
        try {
            require(State.ENTERING);
            if (origin != null) {
                throw new IllegalStateException("this pass has roots");
            }
            origin = unfed(messageId);
            origin.keep(gradients);
        } finally {
            lock.unlock();
        }
    }

    private List<RecvId> entered(PassEntry entry) {
        List<RecvId> reached = graph.enter(entry);
        return mode == PassMode.FAST ? List.of() : reached;
    }

    /**
     * Passes ones into the roots, or the gradients that were {@linkplain #keep kept} into their message, and computes
     * all ready nodes.
     *
     * @throws IllegalStateException when there are none, or they were started, or the pass has ended
     */
    public void start() {
        lock.lock();
        try {
            if (origin == null || origin.isFed) {
                throw new IllegalStateException(
                        origin == null ? "this pass has no roots here" : "this pass was started");
            }
            begin();
            origin.isFed = true;
            fed.add(origin);
            if (isComputing) {
                return;
            }
            isComputing = true;
        } finally {
            lock.unlock();
        }
        compute();
    }

    /**
     * Passes the gradients of a sent message into the graph, and computes all ready nodes. If they don't fit the
     * tensors of the message, the pass fails with a {@link GradientMismatchException}, since it can't be done without
     * them.
     *
     * @param gradients one for each tensor of the message that required grad, in its order; undefined ones are allowed
     * @throws UnknownSendException when the message was not sent in this context; the pass goes on
     * @throws BackwardException when the message takes no part in this pass, or was fed; the pass goes on
     * @throws IllegalStateException when the pass has ended
     */
    public void feed(long messageId, List<Tensor> gradients) {
        lock.lock();
        try {
            begin();
            PassEntry entry = unfed(messageId);
            fed.add(entry);
            if (isComputing) {
                entry.feedLater(gradients);
                return;
            }
            entry.feedNow(gradients);
            isComputing = true;
        } finally {
            lock.unlock();
        }
        compute();
    }

    private PassEntry unfed(long messageId) {
        PassEntry entry = graph.entry(messageId);
        if (entry == null) {
            context.requireSent(messageId);
            throw new BackwardException("message " + messageId + " takes no part in this backward pass");
        }
        if (entry.isFed) {
            throw new BackwardException("the gradients of message " + messageId + " arrived twice");
        }
        return entry;
    }

    private void begin() {
        if (state == State.RUNNING) {
            return;
        }
        require(State.ENTERING);
        if (mode == PassMode.FAST) {
            context.sends().forEach(graph::enter);
        }
        graph.seal();
        runner = new NodeRunner(mode, use, context.gradientTable(), listener, graph, isLink);
        state = State.RUNNING;
    }

    private void require(State expected) {
        if (state != expected) {
            throw new IllegalStateException(
                    state == State.ENDED ? "the backward pass has ended" : "the backward pass has begun");
        }
    }

    /** Runs all ready nodes, including those that become ready meanwhile. */
    private void compute() {
        boolean before = GradMode.is_enabled();
        GradMode.set_enabled(false);
        try {
            if (isDoneAfterRunning()) {
                listener.done();
            }
        } finally {
            GradMode.set_enabled(before);
        }
    }

    private boolean isDoneAfterRunning() {
        NodeRunner mine = runner; // another thread may begin to compute as soon as no work is left
        Next next = Next.ENTRY;
        try {
            mine.brief(listener.isBrief());
            next = runReady();
            while (next == Next.ENTRY) {
                mine.feed(entry);
                next = runReady();
            }
            if (next == Next.HAND_OVER) {
                listener.handOver(this::computeRest);
            } else if (next == Next.PASS_ON) {
                listener.passOn(mine.reached(), mine.reachedGradients());
            }
            return next == Next.DONE;
        } catch (RuntimeException | Error e) { // foreign code: operators, hooks and callbacks
            fail(e);
            return false;
        } finally {
            if (next != Next.HAND_OVER) {
                mine.freeReached();
            }
        }
    }

    /** Runs ready nodes, up to the limit of this thread. */
    private Next runReady() {
        while (state == State.RUNNING) {
            if (runner.isTooMuch()) {
                return handedOver();
            }
            if (!runner.runNext()) {
                break;
            }
        }
        return next();
    }

    private Next handedOver() {
        lock.lock();
        try {
            isHandedOver = state == State.RUNNING;
            return isHandedOver ? Next.HAND_OVER : next();
        } finally {
            lock.unlock();
        }
    }

    /** Continues a computation that was handed over, unless the pass was cancelled meanwhile. */
    private void computeRest() {
        lock.lock();
        try {
            if (!isHandedOver) {
                return;
            }
            isHandedOver = false;
        } finally {
            lock.unlock();
        }
        compute();
    }

    /** Takes the next fed entry. If there is none, another thread may compute. */
    private Next next() {
        lock.lock();
        try {
            if (state == State.RUNNING && !fed.isEmpty()) {
                entry = fed.poll();
                return Next.ENTRY;
            }
            isComputing = false;
            boolean isDone = state == State.RUNNING && runner.left() == 0;
            if (isDone && isLink) {
                beginAgain();
                return Next.PASS_ON;
            }
            if (isDone || state == State.ENDED) {
                end();
            }
            return isDone ? Next.DONE : Next.IDLE;
        } finally {
            lock.unlock();
        }
    }

    private void beginAgain() {
        graph.free();
        graph = new PassGraph(context::recvOn);
        origin = null;
        isLink = false;
        state = State.ENTERING;
    }

    private void fail(Throwable cause) {
        lock.lock();
        try {
            isComputing = false;
            isHandedOver = false;
            boolean isFirst = state != State.ENDED;
            end();
            if (!isFirst) {
                return;
            }
        } finally {
            lock.unlock();
        }
        listener.failed(cause);
    }

    /** Cancels the pass without a callback. The computation stops at the latest when the running node has returned. */
    public void cancel() {
        lock.lock();
        try {
            state = State.ENDED;
            if (!isComputing || isHandedOver) {
                isComputing = false;
                isHandedOver = false;
                end();
            }
        } finally {
            lock.unlock();
        }
    }

    private void end() {
        state = State.ENDED;
        graph.free();
        context.ended(this);
    }
}
