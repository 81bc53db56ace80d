package io.waybill.autograd.pass;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.Value;
import io.waybill.autograd.context.AutogradContext;
import io.waybill.autograd.graph.BackwardException;
import io.waybill.autograd.graph.BackwardPass;
import io.waybill.autograd.graph.PassListener;
import io.waybill.autograd.graph.RecvId;
import io.waybill.autograd.message.BackwardMessage;
import io.waybill.torch.OperatorEvents;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.Executor;
import org.bytedeco.pytorch.Tensor;

/**
 * A backward pass in this worker, from the first message or the roots until the computation here is complete and every
 * worker that received gradients from here has responded. It fails once, at the first failure.
 *
 * <p><b>A pass that is passed on.</b> While a SMART pass leads only to one message, it moves on with the gradients for
 * that message, without a discovery. The worker that receives it responds when the rest has completed. If it leads back
 * to its origin, the response carries the gradients, and the pass continues there. The first worker where it leads to
 * several messages, or to leaves, discovers the rest.
 *
 * <p><b>Threads.</b> Any: no thread waits in it, and no callback is called under its lock.
 */
final class PassRun implements PassListener {

    private final Passes home;
    private final AutogradContext context;
    private final long id;
    private final PassOptions options;
    private final PassState state;
    private volatile BackwardPass pass; // null before it begins

    PassRun(Passes home, AutogradContext context, long id, PassOptions options) {
        this.home = home;
        this.context = context;
        this.id = id;
        this.options = options;
        this.state = new PassState(options.isFast());
    }

    AutogradContext context() {
        return context;
    }

    long id() {
        return id;
    }

    PassOptions options() {
        return options;
    }

    BackwardMessage message(long messageId, BackwardMessage.Kind kind, Value content) {
        return message(messageId, kind, false, false, content);
    }

    BackwardMessage gradients(long messageId, Value gradients, boolean isPassedOn, boolean mayReturn) {
        return message(messageId, BackwardMessage.Kind.GRADIENTS, isPassedOn, mayReturn, gradients);
    }

    private BackwardMessage message(
            long messageId, BackwardMessage.Kind kind, boolean isPassedOn, boolean mayReturn, Value content) {
        boolean keepsGraph = options.keepsGraph();
        return new BackwardMessage(
                context.id(), id, messageId, kind, keepsGraph, options.isFast(), isPassedOn, mayReturn, content);
    }

    void begin(BackwardPass begun) {
        pass = begun;
    }

    // ---- the initiating worker

    /**
     * Runs the pass from its roots.
     *
     * @param thread executor of the computation, after the discovery
     * @throws IllegalArgumentException if one can't be differentiated
     */
    void start(List<Tensor> roots, Executor thread, PassEnd end) {
        List<RecvId> reached;
        try {
            List<RecvId> found = pass.roots(roots);
            reached = pass.link() ? List.of() : found;
        } catch (RuntimeException e) {
            if (state.hasEnded()) { // another pass, or the release of the context, has ended it meanwhile
                end.failed(Passes.over(context, id));
                return;
            }
            failHere(Passes.failure(ErrorCode.REFUSED, e.getMessage()));
            throw new IllegalArgumentException(e.getMessage(), e);
        }
        if (!state.begin(end)) {
            end.failed(Passes.over(context, id));
            return;
        }
        discover(reached, then(() -> thread.execute(() -> computing(pass::start))));
    }

    /** Creates a listener that continues or fails the pass. */
    private PassEnd then(Runnable next) {
        return PassEnd.of(() -> computing(next), this::fail);
    }

    /** Sends the discovery to the senders of these messages; completes when all have responded. */
    private void discover(Collection<RecvId> reached, PassEnd end) {
        Wave wave = new Wave(reached.size(), end);
        for (RecvId recv : reached) {
            home.messages().discover(this, recv, wave);
        }
        wave.done();
    }

    // ---- messages from other workers

    /** Handles another worker's discovery of a send function. */
    void discover(long messageId, PassEnd end) {
        List<RecvId> reached;
        try {
            reached = pass.discover(messageId);
        } catch (BackwardException | IllegalStateException e) {
            end.failed(Passes.failure(ErrorCode.REFUSED, e.getMessage()));
            return;
        }
        discover(reached, end);
    }

    /** Handles gradients for a send function with which another worker passes the pass on. */
    void takeOver(long messageId, List<Tensor> gradients, PassEnd end) {
        try {
            goOn(messageId, gradients, end);
        } catch (BackwardException | IllegalStateException e) {
            end.failed(Passes.failure(ErrorCode.REFUSED, e.getMessage()));
        }
    }

    /**
     * Continues a pass that was passed here.
     *
     * @param from its origin; null if it was passed on from here, and passed back
     */
    private void goOn(long messageId, List<Tensor> gradients, PassEnd from) {
        List<RecvId> reached = pass.discover(messageId);
        boolean isLink = pass.link();
        boolean isKnown = isLink || reached.isEmpty(); // whether all further participants are known
        if (!isKnown) {
            pass.keep(messageId, gradients);
        }
        if (!state.arrived(from, isLink)) {
            if (from != null) {
                from.failed(Passes.over(context, id));
            }
            return;
        }
        if (isKnown) {
            computing(() -> pass.feed(messageId, gradients));
        } else {
            discover(reached, then(pass::start));
        }
    }

    /** Handles gradients for a send function in the response to gradients from here. */
    void returned(BackwardMessage message, List<Tensor> gradients, PassEnd end) {
        if (message.isPassedOn()) {
            computing(() -> goOn(message.messageId(), gradients, null));
            return;
        }
        state.feed();
        computing(() -> pass.feed(message.messageId(), gradients));
        end.done();
        state.fed().notifyDone();
    }

    /** Handles gradients of another worker for a send function. */
    void feed(long messageId, List<Tensor> gradients, PassEnd end) {
        PassState.Fed fed = state.feed(end);
        if (fed == PassState.Fed.TOO_LATE) {
            end.failed(Passes.over(context, id));
            return;
        }
        computing(() -> pass.feed(messageId, gradients));
        if (fed == PassState.Fed.COMPUTED) {
            end.done();
        }
        state.fed().notifyDone();
    }

    private void computing(Runnable step) {
        try {
            step.run();
        } catch (RuntimeException | Error e) {
            failed(e);
        }
    }

    // ---- reports of the graph

    @Override
    public boolean isBrief() {
        return !home.mayTakeLong();
    }

    @Override
    public void handOver(Runnable rest) {
        state.feed();
        home.compute(() -> {
            rest.run();
            state.fed().notifyDone();
        });
    }

    @Override
    public OperatorEvents.Observation observe() {
        return home.observe();
    }

    @Override
    public void passOn(RecvId recv, List<Tensor> gradients) {
        PassEnd from = isLost(recv) ? null : state.origin(recv.worker());
        if (from != null) {
            passBack(recv, gradients, from);
        } else if (state.passOn()) {
            home.messages().gradients(this, recv, gradients, true, then(this::followingEnded));
        }
    }

    /** Passes the pass back to its origin: the response carries the gradients. */
    private void passBack(RecvId recv, List<Tensor> gradients, PassEnd from) {
        BackwardMessage.Encoded encoded = home.messages().returned(this, recv, gradients, true);
        PassState.Left left = state.passBack(from);
        if (left == PassState.Left.TOO_LATE) {
            encoded.release();
            return;
        }
        if (left == PassState.Left.NOTHING) {
            pass.cancel(); // no more entries are accepted
            home.passedBack(this);
        }
        from.keep(encoded);
        from.done();
    }

    /** Returns whether the sender of a message has ended; another incarnation of it does not have the graph. */
    private boolean isLost(RecvId recv) {
        return context.lostSender(recv.messageId()).isPresent();
    }

    private void followingEnded() {
        PassState.Ends ends = state.followingEnded();
        if (ends.isOver()) {
            pass.cancel(); // no more entries are accepted
        }
        ended(ends);
    }

    @Override
    public void received(RecvId recv, List<Tensor> gradients) {
        if (state.call()) {
            home.messages().gradients(this, recv, gradients, false, then(() -> ended(state.callEnded())));
        }
    }

    /** Keeps the last gradients of the computation for the final response, if its receiver is their owner. */
    @Override
    public void receivedLast(RecvId recv, List<Tensor> gradients) {
        PassEnd end = isLost(recv) ? null : state.lastEnd(recv.worker());
        if (end == null) {
            received(recv, gradients);
        } else {
            state.keep(end, home.messages().returned(this, recv, gradients, false));
        }
    }

    @Override
    public void done() {
        ended(state.computed());
    }

    private void ended(PassState.Ends ends) {
        if (ends.isOver()) {
            home.ended(this);
        }
        ends.notifyDone();
    }

    @Override
    public void failed(Throwable cause) {
        String text = cause.getMessage() == null ? cause.toString() : cause.getMessage();
        fail(
                cause instanceof CallException known
                        ? known
                        : new CallException(
                                ErrorKind.UNKNOWN_ERROR, ErrorCode.HANDLER_FAILED, MessageId.NONE, text, cause));
    }

    /** Ends the pass with a failure, and notifies all workers that may wait for gradients from here. */
    void fail(CallException failure) {
        List<PassEnd> ends = stop(failure);
        if (ends == null) {
            return;
        }
        for (int worker : context.knownWorkers()) { // first, because the listeners run foreign code
            if (worker != home.self()) {
                home.messages().failed(this, worker, failure.code(), home.prefixed(failure));
            }
        }
        ends.forEach(each -> each.failed(failure));
    }

    /** Ends the pass with a failure, in this worker only. */
    void failHere(CallException failure) {
        List<PassEnd> ends = stop(failure);
        if (ends != null) {
            ends.forEach(each -> each.failed(failure));
        }
    }

    /** Ends the pass; returns its listeners, or null if it had already ended. */
    private List<PassEnd> stop(CallException failure) {
        List<PassEnd> ends = state.stop(() -> context.passFailed(id, failure));
        if (ends == null) {
            return null;
        }
        BackwardPass stopped = pass;
        if (stopped != null) {
            stopped.cancel();
        }
        home.ended(this);
        return ends;
    }
}
