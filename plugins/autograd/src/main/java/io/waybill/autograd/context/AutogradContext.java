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
 * One context in this worker: what was sent and received in it, the gradients, and which workers know of it.
 *
 * <p><b>Threads.</b> Any. <b>Lifetime.</b> Until it is released; its graph is empty then.
 */
public final class AutogradContext {

    private static final long NO_PASS = -1;

    private final long id;
    private final ContextGraph graph;
    private final Leaves leaves;
    private final Set<Integer> known = ConcurrentHashMap.newKeySet();
    private final Map<Long, String> lost = new ConcurrentHashMap<>(0); // messages received, and who sent them
    private final Map<Integer, Long> lastPasses = new ConcurrentHashMap<>(2); // by the worker that began them
    private volatile PassFailure lastFailure; // null when no pass has failed
    private volatile long passedBack = NO_PASS; // the pass that was passed back last, unless it has failed

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

    /** Hands over everything, for another version of this bundle: also which passes are over, because their last messages may come later. */
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

    /** Takes over what {@link #archive} handed over. */
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
        restored.passedBack = about.size() > 6 ? number(about.get(6)) : NO_PASS; // one more than earlier versions had
        restored.leaves.restore(entry.tensors(), entry.handles());
        return restored;
    }

    private static long number(Value value) {
        return ((Value.Int) value).value();
    }

    /** Notes that a worker knows of it: one that was called, or that called. */
    public void know(int worker) {
        known.add(worker);
    }

    /** Returns whether no worker is noted to know of it. */
    public boolean isUnknown() {
        return known.isEmpty();
    }

    /** Returns whether a worker knows of it. */
    public boolean isKnownTo(int worker) {
        return known.contains(worker);
    }

    /**
     * Notes that a worker has ended, and with it the graph of the messages that came from it.
     *
     * @param isOf which messages the incarnation that ended has sent
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

    /** Returns the name of the worker that sent a message, if it has ended. */
    public Optional<String> lostSender(long messageId) {
        return Optional.ofNullable(lost.get(messageId));
    }

    /** Returns whether no pass that the same worker began later is known here. The first call with an id makes it known. */
    public boolean isLastPass(long passId) {
        return lastPasses.merge(MessageId.worker(passId), passId, Math::max) == passId;
    }

    /** Returns whether this pass, or one that the same worker began later, is known here. */
    public boolean isPassKnown(long passId) {
        return lastPasses.getOrDefault(MessageId.worker(passId), -1L) >= passId;
    }

    /** Returns whether this pass was passed back, and may come again. */
    public boolean isPassedBack(long passId) {
        return passedBack == passId;
    }

    /** Notes that this worker has passed a pass back, and has nothing of it; it may come again. */
    public void passedBack(long passId) {
        passedBack = passId;
    }

    /** Keeps why a pass failed here, for its messages that come later. */
    public void passFailed(long passId, CallException why) {
        lastFailure = new PassFailure(passId, why);
        if (passedBack == passId) {
            passedBack = NO_PASS;
        }
    }

    /** Returns why a pass failed here, if it was the last one that did. */
    public Optional<CallException> passFailure(long passId) {
        PassFailure last = lastFailure;
        return last != null && last.passId == passId ? Optional.of(last.why) : Optional.empty();
    }

    /** Returns the workers that know of it, in the order of their ids. */
    public SortedSet<Integer> knownWorkers() {
        return new TreeSet<>(known);
    }
}
