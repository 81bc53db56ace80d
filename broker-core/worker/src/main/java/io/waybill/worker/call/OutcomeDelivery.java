package io.waybill.worker.call;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.ResponseListener;
import io.waybill.api.context.CallContext;
import io.waybill.api.context.ContextScope;
import io.waybill.api.context.ThreadContext;
import io.waybill.api.event.CallEvent.Kind;
import io.waybill.api.tensor.Tensor;
import io.waybill.handling.CallReports;
import io.waybill.home.note.NotedOutcomes;
import io.waybill.host.Threads;
import io.waybill.host.failure.ForeignErrors;
import io.waybill.wire.RecordView;
import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.poll.PermitRevokedException;
import io.waybill.worker.poll.PollPermit;
import io.waybill.worker.reference.ReceivedReferences;
import java.util.List;
import org.agrona.CloseHelper;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Delivers the outcomes of calls to their listeners, and contains the listeners' failures. A listener that throws is
 * logged and counted. When one does not return, its thread loses the poll permit to another thread, see
 * {@link io.waybill.worker.poll.PollTurns#relieve}.
 *
 * <p><b>Threads.</b> Any; each call has one outcome because only the thread that takes it from {@link PendingCalls}
 * delivers it.
 */
public final class OutcomeDelivery {

    private static final Logger LOG = LoggerFactory.getLogger(OutcomeDelivery.class);

    private final PollPermit permit;
    private final CallReports reports;
    private final WorkerCounters counters;
    private final NotedOutcomes noted;

    /** @param noted receives the failures that no record contains; closed with this object */
    public OutcomeDelivery(PollPermit permit, CallReports reports, WorkerCounters counters, NotedOutcomes noted) {
        this.noted = noted;
        this.permit = permit;
        this.reports = reports;
        this.counters = counters;
    }

    /** Returns the reports of outcomes. */
    CallReports reports() {
        return reports;
    }

    /**
     * Delivers a response, and closes the view and the references afterwards.
     *
     * @param context current for the listener
     * @param view owned by this thread until this method returns
     * @throws PermitRevokedException when this thread had the permit and lost it
     */
    void respond(
            CallContext context,
            ResponseListener listener,
            ResponseView view,
            RecordView record,
            List<Tensor> tensors,
            ReceivedReferences shared) {
        if (listener instanceof BlockingCall call) { // it runs no foreign code: it only wakes a waiting thread
            respond(call, view, record, tensors, shared);
            return;
        }
        ThreadContext thread = ThreadContext.own();
        ContextScope before = thread.enter(context);
        try {
            respond(listener, view, record, tensors, shared);
        } finally {
            thread.leave(before);
        }
    }

    private void respond(
            BlockingCall call, ResponseView view, RecordView record, List<Tensor> tensors, ReceivedReferences shared) {
        if (reports.wants(Kind.ENDED)) {
            call.reported(record.buffer().length());
        }
        try {
            view.open(record, tensors, shared);
            call.onResponse(view);
        } catch (Throwable e) { // the heap may be full
            threw(record.id(), e);
        } finally {
            view.closeView();
        }
    }

    private void respond(
            ResponseListener listener,
            ResponseView view,
            RecordView record,
            List<Tensor> tensors,
            ReceivedReferences shared) {
        long entered = enter();
        long id = record.id();
        boolean pending = Threads.hideInterrupt();
        try {
            view.open(record, tensors, shared);
            listener.onResponse(view);
        } catch (Throwable e) { // the boundary around a listener: it must not stop the poller
            threw(id, e);
        } finally {
            Threads.restoreInterrupt(pending);
            view.closeView();
        }
        if (reports.wants(Kind.ENDED) && !view.isDropped()) {
            int bytes = record.buffer().length();
            reports.ended(id, record.from(), record.type(), view.failed(), bytes, tensors.size());
        }
        leave(entered);
    }

    /**
     * Delivers a failure that is not on record, and notes it before.
     *
     * @param context current for the listener
     * @param peer id of the worker that was called
     * @throws PermitRevokedException when this thread had the permit and lost it
     */
    void failUnrecorded(CallContext context, int peer, ResponseListener listener, CallException failure) {
        noted.note(failure.messageId(), failure.code());
        fail(context, peer, listener, failure);
    }

    /** Ends the notes: no call is in flight any more. */
    void close() {
        CloseHelper.close(e -> LOG.warn("The outcomes of calls can't be closed", e), noted);
    }

    /**
     * Delivers a failure.
     *
     * @param context current for the listener
     * @param peer id of the worker that was called
     * @throws PermitRevokedException when this thread had the permit and lost it
     */
    void fail(CallContext context, int peer, ResponseListener listener, CallException failure) {
        if (listener instanceof BlockingCall call) {
            if (reports.wants(Kind.ENDED)) {
                call.reported(peer);
            }
            call.onFailure(failure);
            return;
        }
        inside(context, () -> {
            long entered = enter();
            notify(listener, failure);
            if (reports.wants(Kind.ENDED)) {
                reports.ended(failure.messageId(), peer, MessageType.EXCEPTION, failure.code(), 0, 0);
            }
            leave(entered);
        });
    }

    /**
     * Delivers the failure of a call that would have been repeated, and whose last attempt was reported.
     *
     * @param context current for the listener
     * @throws PermitRevokedException when this thread had the permit and lost it
     */
    void fail(CallContext context, ResponseListener listener, CallException failure) {
        inside(context, () -> {
            long entered = enter();
            notify(listener, failure);
            leave(entered);
        });
    }

    /**
     * Sends a call again, which may fail immediately.
     *
     * @throws PermitRevokedException when this thread had the permit and lost it
     */
    void repeat(CallInterception call) {
        inside(call.context(), () -> {
            long entered = enter();
            boolean pending = Threads.hideInterrupt();
            try {
                call.repeat();
            } catch (Throwable e) { // the boundary around a listener
                threw(MessageId.NONE, e);
            } finally {
                Threads.restoreInterrupt(pending);
            }
            leave(entered);
        });
    }

    private static void inside(CallContext context, Runnable delivery) {
        ThreadContext thread = ThreadContext.own();
        ContextScope before = thread.enter(context);
        try {
            delivery.run();
        } finally {
            thread.leave(before);
        }
    }

    private void notify(ResponseListener listener, CallException failure) {
        boolean pending = Threads.hideInterrupt();
        try {
            listener.onFailure(failure);
        } catch (Throwable e) { // the boundary around a listener
            threw(failure.messageId(), e);
        } finally {
            Threads.restoreInterrupt(pending);
        }
    }

    /** Creates the failure of a call whose response arrived and can't be used. */
    static CallException unreadable(long id, ErrorCode code, String why, Throwable cause) {
        return new CallException(
                ErrorKind.UNKNOWN_ERROR,
                code,
                id,
                "the response to call " + MessageId.text(id) + " can't be read: " + why,
                cause);
    }

    /** Marks that this thread enters foreign code. */
    private long enter() {
        return permit.isMine() ? permit.enterForeign() : 0;
    }

    private void leave(long entered) {
        if (entered != 0 && !permit.leaveForeign(entered)) {
            throw new PermitRevokedException();
        }
    }

    private void threw(long id, Throwable e) {
        counters.countListenerError();
        ForeignErrors.warn(LOG, "A listener threw on the outcome of call " + MessageId.text(id), e);
    }
}
