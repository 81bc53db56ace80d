package io.waybill.autograd.pass;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.WorkerInfo;
import io.waybill.api.broker.Broker;
import io.waybill.autograd.call.ArrivedTensors;
import io.waybill.autograd.context.AutogradContext;
import io.waybill.autograd.context.ContextTable;
import io.waybill.autograd.context.Notifications;
import io.waybill.autograd.message.BackwardMessage;
import io.waybill.torch.OperatorEvents;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import org.bytedeco.pytorch.Tensor;

/**
 * The backward passes that run in this worker: at most one per context.
 *
 * <p>If two passes meet in a worker, one of them ends, the same one in each worker: of two passes of one worker the
 * earlier one, which that worker has abandoned; of passes of different workers the driver's continues, otherwise that
 * of the worker with the lower id. A late message of an ended pass has no effect.
 *
 * <p><b>Threads.</b> Any.
 */
public final class Passes {

    private final Broker broker;
    private final PassMessages messages;
    private final OperatorEvents operators;
    private final Map<Long, PassRun> running = new HashMap<>(); // by context; guarded by this

    public Passes(Broker broker, Notifications notifications, ArrivedTensors arrived, OperatorEvents operators) {
        this.broker = broker;
        this.operators = operators;
        this.messages = new PassMessages(broker, notifications, arrived);
    }

    PassMessages messages() {
        return messages;
    }

    int self() {
        return broker.self().worker().id();
    }

    /**
     * Returns the refusal of a message of a missing context. In a replay the worker's program may have begun the
     * context, which is not recorded.
     */
    RejectedMessageException missing(long context) {
        broker.replay()
                .ifPresent(replay -> replay.lacks("the context " + context + ", which the worker's program began"));
        return new RejectedMessageException(
                ErrorCode.REFUSED, "Error on Node " + self() + ": " + ContextTable.missing(context));
    }

    /** Returns the observation of this thread's operators; null if there is no observer. */
    OperatorEvents.Observation observe() {
        return operators.observe();
    }

    /** Returns whether this thread may run long, or wait for room: true except on the poller. */
    boolean mayTakeLong() {
        return broker.mayWait();
    }

    /**
     * Runs work on a thread that may run long: this one, or one of the bundle.
     *
     * @throws IllegalStateException if there is no such thread, because the worker is closing, or too many tasks are
     *     scheduled
     */
    void compute(Runnable work) {
        if (mayTakeLong()) {
            work.run();
        } else {
            broker.schedule(Duration.ZERO, work);
        }
    }

    /** Returns the number of running passes. */
    public synchronized int count() {
        return running.size();
    }

    /**
     * Begins a pass that this worker initiates.
     *
     * @param roots whose gradients are ones; the caller keeps them
     * @param thread executor of the computation from the roots, which may run long
     * @param end listener for the completion of the pass in all workers
     * @throws IllegalStateException if another pass of the context runs
     * @throws IllegalArgumentException if a root can't be differentiated
     */
    void begin(AutogradContext context, List<Tensor> roots, PassOptions options, Executor thread, PassEnd end) {
        PassRun run = new PassRun(this, context, broker.nextId(), options);
        PassRun other;
        while ((other = beginUnlessOther(run)) != null) {
            if (isBegunBy(other, self()) || !isPreferred(run.id(), other)) {
                throw new IllegalStateException(conflict(other));
            }
            other.fail(failure(ErrorCode.REFUSED, conflict(run)));
        }
        run.start(roots, thread, end);
    }

    /** Begins a pass unless another one runs in its context; returns the other one, if any. */
    private synchronized PassRun beginUnlessOther(PassRun run) {
        PassRun other = running.get(run.context().id());
        if (other == null) {
            begin(run);
        }
        return other;
    }

    private void begin(PassRun run) {
        PassOptions options = run.options();
        run.context().isLastPass(run.id());
        run.begin(run.context().graph().begin(options.mode(), options.use(), run));
        running.put(run.context().id(), run);
    }

    /** Handles a message of a pass. */
    public void take(AutogradContext context, BackwardMessage message, List<Tensor> gradients, PassEnd end) {
        PassRun run;
        try {
            run = run(context, message);
        } catch (CallException e) {
            end.failed(e);
            return;
        } catch (IllegalStateException e) { // the context was released meanwhile
            end.failed(failure(ErrorCode.REFUSED, ContextTable.missing(context.id())));
            return;
        }
        if (message.kind() == BackwardMessage.Kind.DISCOVER) {
            run.discover(message.messageId(), end);
        } else if (message.isPassedOn()) {
            run.takeOver(message.messageId(), gradients, end);
        } else {
            run.feed(message.messageId(), gradients, end);
        }
    }

    /** Ends a pass that has failed elsewhere, also before it reached this worker. */
    public void failedElsewhere(AutogradContext context, BackwardMessage message) {
        PassRun run;
        CallException failure = failure(message.failureCode(), message.failure());
        synchronized (this) {
            run = running.get(message.contextId());
            if (run == null || run.id() != message.passId()) {
                context.isLastPass(message.passId());
                context.passFailed(message.passId(), failure);
                return;
            }
        }
        run.fail(failure);
    }

    /**
     * Returns the run of a message, and begins it at the first message.
     *
     * @throws CallException if the message is late, or another pass runs
     */
    private PassRun run(AutogradContext context, BackwardMessage message) {
        while (true) {
            PassRun begun;
            PassRun other;
            synchronized (this) {
                other = running.get(context.id());
                if (other != null && other.id() == message.passId()) {
                    return other;
                }
                boolean isBack = message.entersPass() && context.isPassedBack(message.passId());
                if (!isBack && context.isPassKnown(message.passId())) {
                    throw over(context, message.passId());
                }
                PassOptions options = PassOptions.of(message.isFast(), message.keepsGraph());
                begun = new PassRun(this, context, message.passId(), options);
                if (other == null) {
                    begin(begun);
                    return begun;
                }
            }
            if (!isPreferred(message.passId(), other)) {
                throw failure(ErrorCode.REFUSED, conflict(other));
            }
            other.fail(failure(ErrorCode.REFUSED, conflict(begun)));
        }
    }

    /** Returns whether a pass replaces the running one of its context. */
    private static boolean isPreferred(long passId, PassRun other) {
        int worker = MessageId.worker(passId);
        int driver = other.context().driver();
        return isBegunBy(other, worker) // one at a time: the worker has abandoned the other
                || worker == driver
                || !isBegunBy(other, driver) && worker < MessageId.worker(other.id());
    }

    private static boolean isBegunBy(PassRun run, int worker) {
        return MessageId.worker(run.id()) == worker;
    }

    /** Returns the text for a pass that ends because of another one: PyTorch's text, and the name of the other one. */
    private static String conflict(PassRun other) {
        return "Cannot set GraphTask multiple times for the same autograd context "
                + other.context().id() + ": the backward pass " + MessageId.text(other.id()) + ", which worker "
                + MessageId.worker(other.id()) + " began, runs in it";
    }

    synchronized void ended(PassRun run) {
        running.remove(run.context().id(), run);
    }

    /** Removes a pass that was passed back: it may return. */
    synchronized void passedBack(PassRun run) {
        run.context().passedBack(run.id());
        ended(run);
    }

    /** Ends the passes of a context that was released. */
    public void release(AutogradContext context) {
        end(
                context,
                "Autograd context no longer valid! It was released while a backward pass ran in it: " + context.id());
    }

    /** Ends the passes of a context that moves to another version of this bundle. */
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
            if (run.context().isKnownTo(worker.id())) {
                run.fail(failure(
                        ErrorCode.WORKER_LOST,
                        "worker " + worker.name() + " has ended during the backward pass of context "
                                + run.context().id()));
            }
        }
    }

    /** Returns the error of a late message: the failure of its pass, which may not have reached its sender. */
    static CallException over(AutogradContext context, long passId) {
        return context.passFailure(passId)
                .orElseGet(() ->
                        failure(ErrorCode.REFUSED, "the backward pass " + MessageId.text(passId) + " has ended here"));
    }

    /** Returns the text of a failure for another worker. */
    public String prefixed(CallException failure) {
        return "Error on Node " + self() + ": " + failure.getMessage();
    }

    static CallException failure(ErrorCode code, String text) {
        return new CallException(ErrorKind.UNKNOWN_ERROR, code, MessageId.NONE, text);
    }
}
