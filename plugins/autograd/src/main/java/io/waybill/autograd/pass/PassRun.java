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
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.Executor;
import org.bytedeco.pytorch.Tensor;

/**
 * A backward pass in this worker, from the first message or the roots until everything here is computed and every worker that got
 * gradients from here has responded. It fails once, at the first failure.
 *
 * <p><b>A pass that is passed on.</b> As long as a SMART pass leads to one message and nothing else, it goes on with the gradients for that message, and nothing has
 * to be discovered. Who takes it over responds when what follows has ended. The first worker where it leads to several messages, or to leaves, discovers the rest.
 *
 * <p><b>Termination.</b> Otherwise, in a SMART pass, the message that finds this worker idle is responded to when the worker is idle again: it computes nothing, and
 * everything that it sent is responded to. Other messages have their response when they are computed. So the pass is over when all messages of its initiator
 * are responded to, and no response depends on a message that comes later. A FAST pass is not idle before all its gradients have come, so that it doesn't end
 * without them.
 *
 * <p><b>Threads.</b> Any: no thread waits in it, and no callback is called under its lock.
 */
final class PassRun implements PassListener {

    private final Passes home;
    private final AutogradContext context;
    private final long id;
    private final PassOptions options;
    private final List<PassEnd> waiting = new ArrayList<>(1); // guarded by this
    private BackwardPass pass; // guarded by this; null before it begins
    private int calls; // guarded by this: in flight, without those that the pass was passed on with
    private int passedOn; // guarded by this: how often it was, where what follows has not ended
    private final Deque<PassEnd> takenOver =
            new ArrayDeque<>(1); // guarded by this: where it came from, the last one first
    private PassEnd takenToEnd; // guarded by this: the one of them after which it was not passed on; null for none
    private boolean isComputed; // guarded by this: nothing more is computed here
    private int feeding; // guarded by this: threads in feed
    private boolean isInitiator; // guarded by this
    private boolean hasEnded; // guarded by this

    PassRun(Passes home, AutogradContext context, long id, PassOptions options) {
        this.home = home;
        this.context = context;
        this.id = id;
        this.options = options;
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
        return message(messageId, kind, false, content);
    }

    BackwardMessage gradients(long messageId, Value gradients, boolean isPassedOn) {
        return message(messageId, BackwardMessage.Kind.GRADIENTS, isPassedOn, gradients);
    }

    private BackwardMessage message(long messageId, BackwardMessage.Kind kind, boolean isPassedOn, Value content) {
        boolean keepsGraph = options.keepsGraph();
        return new BackwardMessage(
                context.id(), id, messageId, kind, keepsGraph, options.isFast(), isPassedOn, content);
    }

    void begin(BackwardPass begun) {
        pass = begun;
    }

    // ---- the worker that begins it

    /**
     * Runs the pass from its roots.
     *
     * @param thread passed what computes, once everything that takes part is known
     * @throws IllegalArgumentException when one can't be differentiated
     */
    void start(List<Tensor> roots, Executor thread, PassEnd end) {
        List<RecvId> reached;
        try {
            List<RecvId> found = pass.roots(roots);
            reached = pass.link() ? List.of() : found;
        } catch (RuntimeException e) {
            if (hasEnded()) { // another pass, or the end of the context, has ended it meanwhile
                end.failed(Passes.over(context, id));
                return;
            }
            failHere(Passes.failure(ErrorCode.REFUSED, e.getMessage()));
            throw new IllegalArgumentException(e.getMessage(), e);
        }
        if (!await(end)) {
            end.failed(Passes.over(context, id));
            return;
        }
        discover(reached, then(() -> thread.execute(() -> computing(pass::start))));
    }

    /** Goes on, or fails the pass. */
    private PassEnd then(Runnable next) {
        return PassEnd.of(() -> computing(next), this::fail);
    }

    private synchronized boolean hasEnded() {
        return hasEnded;
    }

    /** Adds a waiter; returns false when the pass has ended, and the waiter would miss that. */
    private synchronized boolean await(PassEnd end) {
        isInitiator = true;
        return !hasEnded && waiting.add(end);
    }

    /** Asks the senders of these messages; ends when all have responded. */
    private void discover(Collection<RecvId> reached, PassEnd end) {
        Wave wave = new Wave(reached.size(), end);
        for (RecvId recv : reached) {
            home.messages().discover(this, recv, wave);
        }
        wave.done();
    }

    // ---- messages from other workers

    /** Another worker's discovery reaches a send function. */
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

    /** Another worker feeds a send function, and passes the pass on. */
    void takeOver(long messageId, List<Tensor> gradients, PassEnd end) {
        List<RecvId> reached;
        boolean isLink;
        boolean isKnown; // all that takes part from here on
        try {
            reached = pass.discover(messageId);
            isLink = pass.link();
            isKnown = isLink || reached.isEmpty();
            if (!isKnown) {
                pass.keep(messageId, gradients);
            }
        } catch (BackwardException | IllegalStateException e) {
            end.failed(Passes.failure(ErrorCode.REFUSED, e.getMessage()));
            return;
        }
        synchronized (this) {
            if (hasEnded) {
                end.failed(Passes.over(context, id));
                return;
            }
            takenOver.push(end);
            takenToEnd = isLink ? null : end;
        }
        if (isKnown) {
            computing(() -> pass.feed(messageId, gradients));
        } else {
            discover(reached, then(pass::start));
        }
    }

    /** Another worker feeds a send function. */
    void feed(long messageId, List<Tensor> gradients, PassEnd end) {
        boolean isFirst;
        synchronized (this) {
            if (hasEnded) {
                end.failed(Passes.over(context, id));
                return;
            }
            isFirst = waiting.isEmpty() && takenToEnd == null;
            if (isFirst) {
                waiting.add(end);
            }
            feeding++;
        }
        computing(() -> pass.feed(messageId, gradients));
        if (!isFirst) {
            end.done();
        }
        idle(1).forEach(PassEnd::done);
    }

    /**
     * Returns the messages that have their response now, if this worker is idle.
     *
     * @param fed threads that leave feed
     */
    private synchronized List<PassEnd> idle(int fed) {
        feeding -= fed;
        boolean isIdle = feeding == 0 && calls == 0 && !hasEnded;
        if (!isIdle || isInitiator || options.isFast()) {
            return List.of();
        }
        return takeWaiting();
    }

    private void computing(Runnable step) {
        try {
            step.run();
        } catch (RuntimeException | Error e) {
            failed(e);
        }
    }

    // ---- what the graph reports

    @Override
    public boolean isBrief() {
        return !home.mayTakeLong();
    }

    @Override
    public void handOver(Runnable rest) {
        synchronized (this) {
            feeding++; // this worker is not idle before
        }
        home.compute(() -> {
            rest.run();
            idle(1).forEach(PassEnd::done);
        });
    }

    @Override
    public void passOn(RecvId recv, List<Tensor> gradients) {
        synchronized (this) {
            if (hasEnded) {
                return;
            }
            passedOn++;
        }
        home.messages().gradients(this, recv, gradients, true, then(this::followingEnded));
    }

    /** Notes that everything has ended that followed where the pass was passed on last. */
    private void followingEnded() {
        List<PassEnd> ends;
        boolean isOver;
        synchronized (this) {
            if (hasEnded) {
                return;
            }
            passedOn--;
            PassEnd from = takenOver.poll();
            isOver = passedOn == 0 && calls == 0;
            ends = new ArrayList<>(from == null ? List.of() : List.of(from));
            ends.addAll(isOver ? end() : List.of());
        }
        if (isOver) {
            pass.cancel(); // nothing more is entered
            home.ended(this);
        }
        ends.forEach(PassEnd::done);
    }

    @Override
    public void received(RecvId recv, List<Tensor> gradients) {
        synchronized (this) {
            if (hasEnded) {
                return;
            }
            calls++;
        }
        home.messages().gradients(this, recv, gradients, false, then(() -> advance(false)));
    }

    @Override
    public void done() {
        advance(true);
    }

    @Override
    public void failed(Throwable cause) {
        fail(
                cause instanceof CallException known
                        ? known
                        : new CallException(
                                ErrorKind.UNKNOWN_ERROR,
                                ErrorCode.HANDLER_FAILED,
                                MessageId.NONE,
                                cause.getMessage() == null ? cause.toString() : cause.getMessage(),
                                cause));
    }

    /** Notes that everything is computed here, or that a call has been responded to. */
    private void advance(boolean computed) {
        List<PassEnd> ends;
        boolean isOver;
        synchronized (this) {
            if (hasEnded) {
                return;
            }
            isComputed |= computed;
            calls -= computed ? 0 : 1;
            boolean isEnd = isComputed && calls == 0;
            isOver = isEnd && passedOn == 0;
            if (isOver) {
                ends = end();
            } else {
                ends = isEnd && takenToEnd != null ? List.of(takeToEnd()) : idle(0);
            }
        }
        if (isOver) {
            home.ended(this);
        }
        ends.forEach(PassEnd::done);
    }

    private PassEnd takeToEnd() {
        PassEnd end = takenToEnd;
        takenToEnd = null;
        takenOver.remove(end);
        return end;
    }

    /** Ends the pass with a failure, and notifies all workers that may wait for gradients from here. */
    void fail(CallException failure) {
        List<PassEnd> ends = stop(failure);
        if (ends == null) {
            return;
        }
        for (int worker : context.knownWorkers()) { // first: what the ends do is foreign
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

    /** Ends the pass; returns those that wait for it, or null when it has ended before. */
    private List<PassEnd> stop(CallException failure) {
        List<PassEnd> ends;
        BackwardPass stopped;
        synchronized (this) {
            if (hasEnded) {
                return null;
            }
            context.passFailed(id, failure); // before others see that it has ended
            ends = end();
            stopped = pass;
        }
        if (stopped != null) {
            stopped.cancel();
        }
        home.ended(this);
        return ends;
    }

    private List<PassEnd> end() {
        hasEnded = true;
        List<PassEnd> ends = takeWaiting();
        ends.addAll(takenOver);
        takenOver.clear();
        return ends;
    }

    private List<PassEnd> takeWaiting() {
        List<PassEnd> ends = new ArrayList<>(waiting);
        waiting.clear();
        return ends;
    }
}
