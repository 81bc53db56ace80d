package io.waybill.autograd.pass;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.WorkerInfo;
import io.waybill.api.broker.Broker;
import io.waybill.autograd.context.AutogradContext;
import io.waybill.autograd.message.BackwardMessage;
import io.waybill.torch.NativeTensors;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.bytedeco.pytorch.Tensor;

/**
 * The backward passes that run in this worker: at most one per context.
 *
 * <p>Messages of a pass that has ended come too late and begin nothing: the ids of the last {@value #MAX_ENDED} are kept for that.
 *
 * <p><b>Threads.</b> Any.
 */
public final class Passes {

    private static final int MAX_ENDED = 65_536;

    private final Broker broker;
    private final PassMessages messages;
    private final Map<Long, PassRun> running = new HashMap<>(); // by context; guarded by this
    private final Set<Long> ended = Collections.newSetFromMap(
            new LinkedHashMap<>() { // guarded by this
                private static final long serialVersionUID = 1L;

                @Override
                protected boolean removeEldestEntry(Map.Entry<Long, Boolean> eldest) {
                    return size() > MAX_ENDED;
                }
            });

    public Passes(Broker broker, NativeTensors natives) {
        this.broker = broker;
        this.messages = new PassMessages(broker, natives);
    }

    PassMessages messages() {
        return messages;
    }

    int self() {
        return broker.self().worker().id();
    }

    /** Returns how many passes run. */
    public synchronized int count() {
        return running.size();
    }

    /**
     * Begins a pass of this worker's own.
     *
     * @param roots whose gradients are ones; the caller keeps them
     * @param end notified when the pass has ended in all workers
     * @throws IllegalStateException when another pass of the context runs
     * @throws IllegalArgumentException when a root can't be differentiated
     */
    public void begin(AutogradContext context, List<Tensor> roots, PassOptions options, PassEnd end) {
        PassRun run = new PassRun(this, context, broker.nextId(), options);
        begin(run);
        run.start(roots, end);
    }

    private synchronized void begin(PassRun run) {
        PassOptions options = run.options();
        try {
            run.begin(run.context().graph().begin(options.mode(), options.use(), run));
        } catch (IllegalStateException e) {
            throw new IllegalStateException(
                    "Cannot set GraphTask multiple times for the same autograd context "
                            + run.context().id(),
                    e);
        }
        running.put(run.context().id(), run);
    }

    /** Takes a message of a pass. */
    public void take(AutogradContext context, BackwardMessage message, List<Tensor> gradients, PassEnd end) {
        PassRun run = run(context, message);
        if (run == null) {
            end.failed(over(message.passId()));
        } else if (message.kind() == BackwardMessage.Kind.DISCOVER) {
            run.discover(message.messageId(), end);
        } else {
            run.feed(message.messageId(), gradients, end);
        }
    }

    /** Ends a pass that has failed elsewhere, also before it reached this worker. */
    public void failedElsewhere(BackwardMessage message) {
        PassRun run;
        synchronized (this) {
            run = running.get(message.contextId());
            if (run == null || run.id() != message.passId()) {
                ended.add(message.passId());
                return;
            }
        }
        run.fail(failure(ErrorCode.HANDLER_FAILED, message.failure()));
    }

    /** Returns the run that a message belongs to, begun if it is the first; null when it comes too late. */
    private PassRun run(AutogradContext context, BackwardMessage message) {
        PassRun stale;
        synchronized (this) {
            stale = running.get(context.id());
            if (stale != null && stale.id() == message.passId()) {
                return stale;
            }
            if (ended.contains(message.passId())) {
                return null;
            }
            if (stale == null) {
                PassOptions options = PassOptions.of(message.isFast(), message.keepsGraph());
                PassRun begun = new PassRun(this, context, message.passId(), options);
                begin(begun);
                return begun;
            }
        }
        // its initiator has given it up, or there are two: PyTorch allows one
        stale.failHere(failure(ErrorCode.REFUSED, "Cannot set GraphTask multiple times for the same autograd context"));
        return run(context, message);
    }

    synchronized void ended(PassRun run) {
        running.remove(run.context().id(), run);
        ended.add(run.id());
    }

    /** Ends the passes of a context that was released. */
    public void release(AutogradContext context) {
        end(
                context,
                "Autograd context no longer valid! It was released while a backward pass ran in it: " + context.id());
    }

    /** Ends the passes of a context that another version of this bundle takes over. */
    public void leave(AutogradContext context) {
        end(context, "the autograd bundle was updated while a backward pass ran in context " + context.id());
    }

    private void end(AutogradContext context, String why) {
        PassRun run;
        synchronized (this) {
            run = running.get(context.id());
        }
        if (run != null) {
            run.failHere(failure(ErrorCode.REFUSED, why));
        }
    }

    /** Fails the pass that runs in a context, here and elsewhere. */
    void fail(AutogradContext context, CallException failure) {
        PassRun run;
        synchronized (this) {
            run = running.get(context.id());
        }
        if (run != null) {
            run.fail(failure);
        }
    }

    /** Fails the passes that may wait for a worker that has ended. */
    public void workerEnded(WorkerInfo worker) {
        List<PassRun> all;
        synchronized (this) {
            all = List.copyOf(running.values());
        }
        for (PassRun run : all) {
            if (run.context().knownWorkers().contains(worker.id())) {
                run.fail(failure(
                        ErrorCode.WORKER_LOST,
                        "worker " + worker.name() + " has ended during the backward pass of context "
                                + run.context().id()));
            }
        }
    }

    CallException over(long passId) {
        return failure(ErrorCode.REFUSED, "the backward pass " + passId + " has ended here");
    }

    /** Returns the text of a failure as another worker gets it. */
    public String prefixed(CallException failure) {
        return "Error on Node " + self() + ": " + failure.getMessage();
    }

    static CallException failure(ErrorCode code, String text) {
        return new CallException(ErrorKind.UNKNOWN_ERROR, code, MessageId.NONE, text);
    }
}
