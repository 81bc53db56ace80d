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
import io.waybill.host.failure.ForeignErrors;
import io.waybill.wire.RecordView;
import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.poll.PermitRevokedException;
import io.waybill.worker.poll.PollPermit;
import io.waybill.worker.reference.ReceivedReferences;
import java.util.List;
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

    public OutcomeDelivery(PollPermit permit, CallReports reports, WorkerCounters counters) {
        this.permit = permit;
        this.reports = reports;
        this.counters = counters;
    }

    /** Returns where outcomes are reported. */
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
        if (isOwn(listener)) {
            respond(listener, view, record, tensors, shared);
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
            ResponseListener listener,
            ResponseView view,
            RecordView record,
            List<Tensor> tensors,
            ReceivedReferences shared) {
        long entered = enter(listener);
        long id = record.id();
        try {
            view.open(record, tensors, shared);
            listener.onResponse(view);
        } catch (Throwable e) { // the boundary around a listener: it must not stop the poller
            threw(id, e);
        } finally {
            view.closeView();
        }
        if (reports.wants(Kind.ENDED) && !view.isDropped()) {
            entered = enterReport(entered);
            int bytes = record.buffer().length();
            reports.ended(id, record.from(), record.type(), view.failed(), bytes, tensors.size());
        }
        leave(entered);
    }

    /**
     * Delivers a failure.
     *
     * @param context current for the listener
     * @param peer id of the worker that was called
     * @throws PermitRevokedException when this thread had the permit and lost it
     */
    void fail(CallContext context, int peer, ResponseListener listener, CallException failure) {
        inside(context, () -> {
            long entered = enter(listener);
            notify(listener, failure);
            if (reports.wants(Kind.ENDED)) {
                entered = enterReport(entered);
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
            long entered = enter(listener);
            notify(listener, failure);
            leave(entered);
        });
    }

    /**
     * Sends a call again, which may fail at once.
     *
     * @throws PermitRevokedException when this thread had the permit and lost it
     */
    void repeat(CallInterception call) {
        inside(call.context(), () -> {
            long entered = enter(call);
            try {
                call.repeat();
            } catch (Throwable e) { // the boundary around a listener
                threw(MessageId.NONE, e);
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

    /** Returns whether the outcome meets no foreign code: the listener only wakes a waiting thread. */
    private boolean isOwn(ResponseListener listener) {
        return listener instanceof BlockingCall && !reports.wants(Kind.ENDED);
    }

    private void notify(ResponseListener listener, CallException failure) {
        try {
            listener.onFailure(failure);
        } catch (Throwable e) { // the boundary around a listener
            threw(failure.messageId(), e);
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

    /** Marks that this thread enters a listener, unless it is the broker's own, which only wakes a waiting thread. */
    private long enter(ResponseListener listener) {
        return listener instanceof BlockingCall || !permit.isMine() ? 0 : permit.enterForeign();
    }

    /** Marks that this thread calls foreign code, if it has not entered a listener. */
    private long enterReport(long entered) {
        return entered == 0 && permit.isMine() ? permit.enterForeign() : entered;
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
