package io.waybill.autograd.context;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.Value;
import io.waybill.api.WorkerInfo;
import io.waybill.api.tensor.Tensor;
import io.waybill.autograd.graph.ContextGraph;
import io.waybill.autograd.graph.GraphArchive;
import io.waybill.autograd.graph.RecvId;
import io.waybill.torch.NativeState;
import io.waybill.torch.NativeTensor;
import io.waybill.torch.NativeTensors;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongPredicate;

/**
 * Context in this worker: its sent and received messages, its gradients, and the workers that know it.
 *
 * <p><b>Threads.</b> Any. <b>Lifetime.</b> Until it is released; then its graph is empty.
 */
public final class AutogradContext {

    private static final long NO_PASS = -1;

    private final long id;
    private final ContextGraph graph;
    private final Leaves leaves;
    private final Set<Integer> known = ConcurrentHashMap.newKeySet();
    private final Map<Long, String> lost = new ConcurrentHashMap<>(0); // received messages, and their senders
    private final Map<Integer, Long> lastPasses = new ConcurrentHashMap<>(2); // by initiating worker
    private volatile PassFailure lastFailure; // null if no pass has failed
    private volatile long passedBack = NO_PASS; // the last pass that was passed back, unless it has failed

    private record PassFailure(long passId, CallException why) {}

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

    /** Returns the graph of its sent and received messages. */
    public ContextGraph graph() {
        return graph;
    }

    /** Returns the leaves among the tensors of its messages. */
    public Leaves leaves() {
        return leaves;
    }

    /** Releases all of libtorch's objects of the context. */
    public void close() {
        graph.close();
        leaves.close();
    }

    /**
     * Transfers the whole state to another version of this bundle, including the passes that are over, because their
     * last messages may arrive later.
     */
    NativeState.Entry archive() {
        GraphArchive archive = graph.archive();
        List<Tensor> tensors = new ArrayList<>();
        List<NativeTensor> handles = new ArrayList<>();
        leaves.archive(tensors, handles);
        List<Value> workers = new ArrayList<>();
        known.forEach(worker -> workers.add(Value.of(worker)));
        List<Value> passes = new ArrayList<>();
        lastPasses.values().forEach(pass -> passes.add(Value.of(pass)));
        List<Value> losses = new ArrayList<>();
        lost.forEach((message, worker) -> losses.add(Value.tuple(Value.of(message), Value.of(worker))));
        PassFailure last = lastFailure;
        Value failure = last == null
                ? Value.NONE
                : Value.tuple(
                        Value.of(last.passId),
                        Value.of(last.why.code().number()),
                        Value.of(String.valueOf(last.why.getMessage())));
        Value about = Value.tuple(
                Value.of(id),
                new Value.Items(workers),
                archive.about(),
                new Value.Items(passes),
                new Value.Items(losses),
                failure,
                Value.of(passedBack));
        return new NativeState.Entry(about, archive.natives(), tensors, handles);
    }

    /** Restores the state that {@link #archive} transferred. */
    static AutogradContext restored(NativeState.Entry entry, NativeTensors natives) {
        List<Value> about = ((Value.Tuple) entry.about()).values();
        ContextGraph graph = ContextGraph.restored(new GraphArchive(about.get(2), entry.natives()));
        AutogradContext restored = new AutogradContext(number(about.get(0)), graph, natives);
        for (Value worker : ((Value.Items) about.get(1)).values()) {
            restored.know((int) number(worker));
        }
        for (Value pass : ((Value.Items) about.get(3)).values()) {
            restored.isLastPass(number(pass));
        }
        for (Value loss : ((Value.Items) about.get(4)).values()) {
            List<Value> fields = ((Value.Tuple) loss).values();
            restored.lost.put(number(fields.get(0)), ((Value.Text) fields.get(1)).value());
        }
        if (about.get(5) instanceof Value.Tuple failure) {
            List<Value> fields = failure.values();
            restored.passFailed(
                    number(fields.get(0)),
                    new CallException(
                            ErrorKind.UNKNOWN_ERROR,
                            ErrorCode.of((int) number(fields.get(1))),
                            MessageId.NONE,
                            ((Value.Text) fields.get(2)).value()));
        }
        // one more field than in earlier versions
        restored.passedBack = about.size() > 6 ? number(about.get(6)) : NO_PASS;
        restored.leaves.restore(entry.tensors(), entry.handles());
        return restored;
    }

    private static long number(Value value) {
        return ((Value.Int) value).value();
    }

    /** Records that a worker knows the context, because it was called or called. */
    public void know(int worker) {
        known.add(worker);
    }

    /** Returns whether no worker is known to know the context. */
    public boolean isUnknown() {
        return known.isEmpty();
    }

    /** Returns whether a worker knows the context. */
    public boolean isKnownTo(int worker) {
        return known.contains(worker);
    }

    /**
     * Records that a worker has ended, and with it the graph of the messages that it sent.
     *
     * @param isOf whether the ended incarnation sent a message
     */
    void lose(WorkerInfo worker, LongPredicate isOf) {
        if (isKnownTo(worker.id())) {
            for (RecvId recv : graph.received(worker.id())) {
                if (isOf.test(recv.messageId())) {
                    lost.put(recv.messageId(), worker.name());
                }
            }
        }
    }

    /** Returns the name of a message's sender, if it has ended. */
    public Optional<String> lostSender(long messageId) {
        return Optional.ofNullable(lost.get(messageId));
    }

    /** Returns whether no later pass of the same worker is known here. The first call with an id makes it known. */
    public boolean isLastPass(long passId) {
        return lastPasses.merge(MessageId.worker(passId), passId, Math::max) == passId;
    }

    /** Returns whether this pass, or a later one of the same worker, is known here. */
    public boolean isPassKnown(long passId) {
        return lastPasses.getOrDefault(MessageId.worker(passId), -1L) >= passId;
    }

    /** Returns whether this pass was passed back, and may return. */
    public boolean isPassedBack(long passId) {
        return passedBack == passId;
    }

    /** Records that this worker has passed a pass back and has no state of it; the pass may return. */
    public void passedBack(long passId) {
        passedBack = passId;
    }

    /** Keeps the failure of a pass for its later messages. */
    public void passFailed(long passId, CallException why) {
        lastFailure = new PassFailure(passId, why);
        if (passedBack == passId) {
            passedBack = NO_PASS;
        }
    }

    /** Returns the failure of a pass, if it was the last one that failed here. */
    public Optional<CallException> passFailure(long passId) {
        PassFailure last = lastFailure;
        return last != null && last.passId == passId ? Optional.of(last.why) : Optional.empty();
    }

    /** Returns the workers that know the context, in the order of their ids. */
    public SortedSet<Integer> knownWorkers() {
        return new TreeSet<>(known);
    }
}
