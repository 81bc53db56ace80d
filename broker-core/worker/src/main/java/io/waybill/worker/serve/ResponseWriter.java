package io.waybill.worker.serve;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.event.CallEvent;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.ServedBy;
import io.waybill.event.EventView;
import io.waybill.handling.CallReports;
import io.waybill.handling.Failure;
import io.waybill.handling.OutgoingResponse;
import io.waybill.host.Clock;
import io.waybill.host.failure.ForeignErrors;
import io.waybill.journal.JournalFailedException;
import io.waybill.journal.JournalFullException;
import io.waybill.tensor.Plan;
import io.waybill.wire.Envelope;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import io.waybill.worker.metrics.OperationCounts;
import io.waybill.worker.peer.CallErrors;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.poll.HandlerSlots;
import io.waybill.worker.publish.Publication;
import io.waybill.worker.publish.PublishingContext;
import io.waybill.worker.publish.QueueAppender;
import io.waybill.worker.publish.Repetition;
import io.waybill.worker.reference.SentReferences;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes the responses of a worker: prepares their tensors and references, and has them published. The preparation of a
 * response that is not published is undone. Thread-safe.
 */
public final class ResponseWriter {

    private static final Logger LOG = LoggerFactory.getLogger(ResponseWriter.class);
    /** Max time that a response waits for its caller to release tensors. */
    private static final long MAX_WAIT_NS = 5_000_000_000L;
    /** Max wait on the poller, on which all calls wait: enough for a caller that is about to release tensors. */
    private static final long MAX_WAIT_ON_POLLER_NS = 10_000_000;

    private final PublishingContext context;
    private final Clock clock;
    private final int workerId;
    private final int maxRecordBytes;
    private final QueueAppender appender;
    private final HandlerSlots invocations;
    private final AtomicLong unwritten = new AtomicLong();
    private volatile boolean closed; // set by the thread that closes the worker
    private final AtomicLong latestNs =
            new AtomicLong(); // by the responding thread, read by the polling one, most often the same

    public ResponseWriter(PublishingContext context, QueueAppender appender, HandlerSlots invocations) {
        this.context = context;
        this.clock = context.clock();
        this.workerId = context.worker().id();
        this.maxRecordBytes = context.maxRecordBytes();
        this.appender = appender;
        this.invocations = invocations;
    }

    /** Returns whether new requests may be begun: there is room for their responses. */
    boolean isComfortable() {
        return appender.journal().isComfortable()
                || toppedUp() && appender.journal().isComfortable();
    }

    /** Reserves more space immediately, when the background reservation was outrun. */
    private boolean toppedUp() {
        try {
            appender.journal().topUp();
            return true;
        } catch (JournalFullException e) {
            return false;
        }
    }

    /** Returns the time of the last response written, on the wall clock, without a clock read. */
    long latestNs() {
        return latestNs.getOpaque();
    }

    /** Returns whether requests may be read: there is room at least for error responses. */
    boolean canRespond() {
        return appender.journal().hasRoomForResponses();
    }

    /**
     * Sends the response of a handler, whose request is set, or else an error, unless the journal accepts none. Does
     * not throw.
     *
     * @return whether the handler's response was sent
     */
    boolean send(ResponseBody body) {
        int length = body.length();
        if (!canRespond() && !isComfortable()) {
            fail(
                    body,
                    ErrorCode.JOURNAL_FULL,
                    "the request was handled, but there is no room on the journal's disk for its response of " + length
                            + " bytes");
            return false;
        }
        if (length > maxRecordBytes / 2) {
            fail(body, ErrorCode.TOO_LARGE, tooLarge(length));
            return false;
        }
        PeerLink to = body.to();
        Plan plan = null;
        SentReferences sharing = null;
        boolean published = false;
        Failure failure = null;
        try {
            plan = body.tensors().isEmpty() ? null : plan(body.tensors(), to);
            sharing = body.references().isEmpty() ? null : share(body, to);
            body.travelsWith(plan, sharing);
            body.fit(maxRecordBytes / 2);
            published = append(body);
        } catch (CallException e) { // the tensors or the references can't be sent
            failure = new Failure(e.kind(), e.code(), Failure.nodeError(workerId, e.getMessage()));
        } catch (Throwable e) { // the boundary around storages, which may be released or foreign code
            String text = "the response can't be sent: " + ForeignErrors.describe(e);
            failure = Failure.of(ErrorCode.HANDLER_FAILED, workerId, text);
        }
        try {
            if (!published) {
                SentReferences.takeBack(sharing, plan);
            }
        } finally {
            if (failure != null) {
                fail(body, failure);
            }
            body.ended();
        }
        return published;
    }

    /** Makes a fork of each reference for the caller, which is a user of it from now on. */
    private SentReferences share(ResponseBody body, PeerLink to) {
        SentReferences sharing;
        try {
            sharing = SentReferences.of(body.references(), to, null);
        } catch (IllegalArgumentException e) { // too many of them
            throw CallErrors.refused(ErrorCode.REFUSED, e.getMessage());
        }
        if (body.length() + sharing.length() > maxRecordBytes / 2) {
            sharing.abandon();
            throw CallErrors.refused(ErrorCode.TOO_LARGE, tooLarge(body.length() + sharing.length()));
        }
        return sharing;
    }

    private String tooLarge(int length) {
        return "a payload has at most " + maxRecordBytes / 2 + " bytes, and the response has " + length;
    }

    private void fail(ResponseBody body, ErrorCode code, String text) {
        fail(body, Failure.of(code, workerId, text));
        body.ended();
    }

    private void fail(ResponseBody body, Failure failure) {
        ResponseBody.OfError error = new ResponseBody.OfError(failure);
        error.respondsAs(body);
        fail(error);
    }

    /** Prepares the tensors; waits up to a limit while the caller has too many leases. */
    private Plan plan(List<Tensor> tensors, PeerLink to) {
        long untilNs = 0;
        while (true) {
            try {
                return context.transit()
                        .sender()
                        .plan(tensors, to.id(), to.devices().responses());
            } catch (CallException e) {
                long nowNs = clock.monotonicNs();
                if (untilNs == 0) {
                    untilNs = nowNs + (invocations.own().isInline() ? MAX_WAIT_ON_POLLER_NS : MAX_WAIT_NS);
                }
                boolean useless = to.condition() != PeerLink.Condition.OPEN
                        || nowNs >= untilNs
                        || Thread.currentThread().isInterrupted();
                if (e.code() != ErrorCode.BACK_PRESSURE || useless) {
                    throw e;
                }
                invocations.threads().pause(50_000);
            }
        }
    }

    /** Sends a recorded response again, for a repeated request. */
    void again(PeerLink to, RecordView response) {
        if (response.hasReferences() || context.transit().hasLeases(response)) {
            String text = "the response has references or tensors in a segment, which were for the first request";
            ResponseBody.OfError gone = new ResponseBody.OfError(Failure.of(ErrorCode.RESPONSE_GONE, workerId, text));
            gone.respondsTo(this, to, response);
            fail(gone);
            return;
        }
        try {
            long wallNs = clock.wallNs();
            appender.publish(new Repetition(response, to, record -> record.sentNs(wallNs), bytes -> {}), wallNs);
        } catch (JournalFullException | JournalFailedException e) {
            countUnwritten(e);
        }
    }

    /** Responds with an error whose request is set. Does not throw. */
    void fail(ResponseBody.OfError error) {
        context.counters().countFailure(error.code());
        try {
            append(error);
        } catch (RuntimeException | Error e) {
            countUnwritten(e);
            countOutcome(error, error.code());
        }
    }

    int workerId() {
        return workerId;
    }

    /** A response until it is published. Belongs to the thread that responds. */
    abstract static class Content implements Publication {

        // Of the request; null while it is not responded to.
        private ResponseWriter writer;
        private PeerLink to;
        private RecordView request;
        private OperationCounts counts; // null for a response that is sent again
        private long handlerSequence;
        private int flags;
        private long wallNs;

        /** Sets the request. {@link #ended} must be called when the response is published, or can't be. */
        final void respondsTo(ResponseWriter by, PeerRequest exchange, long sequence) {
            respondsTo(by, exchange.link(), exchange.view());
            counts = exchange.counts().ofOperation();
            handlerSequence = sequence;
            flags = exchange.flags();
        }

        /** Sets the request that another response is to. */
        final void respondsAs(Content other) {
            writer = other.writer;
            to = other.to;
            request = other.request;
            counts = other.counts;
            handlerSequence = other.handlerSequence;
            flags = other.flags;
        }

        /** Sets the counters for the outcome of the request. */
        final void countedBy(OperationCounts operation) {
            counts = operation;
        }

        /** Sets the request, or the recorded response that this one replaces. */
        final void respondsTo(ResponseWriter by, PeerLink caller, RecordView recorded) {
            writer = by;
            to = caller;
            request = recorded;
            handlerSequence = recorded.handlerSequence();
            flags = 0;
        }

        /** Clears the request. */
        final void ended() {
            writer = null;
            to = null;
            request = null;
            counts = null;
        }

        /** Returns the error; null for none. */
        ErrorCode code() {
            return null;
        }

        int tensorCount() {
            return 0;
        }

        /** Returns the provider of the handler. */
        ServedBy servedBy() {
            return ServedBy.NONE;
        }

        abstract int payloadLength();

        /** Returns the length of the tensor section; 0 without one. */
        int sectionLength() {
            return 0;
        }

        /** Writes the content to a record that was begun with these lengths. */
        abstract void write(MessageBuffer record);

        @Override
        public final long id() {
            return request.id();
        }

        @Override
        public final PeerLink to() {
            return to;
        }

        @Override
        public final void compose(MessageBuffer record) {
            MessageType type = code() == null ? OutgoingResponse.typeFor(request.type()) : MessageType.EXCEPTION;
            record.begin(type, id(), writer.workerId, to.id(), payloadLength(), sectionLength())
                    .flags(flags)
                    .sentNs(wallNs)
                    .parent(request.parent())
                    .handlerSequence(handlerSequence);
            write(record);
        }

        @Override
        public final void count(int recordBytes) {
            count(code(), recordBytes);
        }

        private void count(ErrorCode error, int recordBytes) {
            if (counts != null) {
                counts.ended(error, wallNs - request.sentNs(), request.buffer().length(), recordBytes);
            }
        }

        /**
         * Reports on the thread that has begun the request; on another thread if none has, because this one may have to
         * continue polling.
         */
        @Override
        public final void report() {
            CallReports reports = writer.context.reports();
            if (reports.wants(CallEvent.Kind.RESPONDED)) {
                EventView event = writer.invocations.own().prepare(reports);
                String by = servedBy().text();
                int bytes = (int) Envelope.recordLength(payloadLength(), sectionLength());
                reports.responded(event, request, to.id(), by, code(), bytes, tensorCount(), wallNs);
            }
        }
    }

    /** Publishes a response. Returns whether it is published; an exception means that it is not. */
    private boolean append(Content response) {
        long wallNs = clock.wallNs();
        response.wallNs = wallNs;
        latestNs.setOpaque(wallNs);
        try {
            appender.publish(response, wallNs);
            return true;
        } catch (JournalFullException | JournalFailedException e) {
            countUnwritten(e);
            ErrorCode error = response.code();
            countOutcome(response, error == null ? CallErrors.notWritten(e).code() : error);
            return false;
        }
    }

    /** Counts the outcome of a request whose response could not be written. */
    private void countOutcome(Content response, ErrorCode error) {
        appender.lock();
        try {
            response.count(error, 0);
        } finally {
            appender.unlock();
        }
    }

    /** Counts a response that could not be written; its caller times out. */
    private void countUnwritten(Throwable e) {
        if (closed) {
            LOG.debug("A handler ended after its worker had left, and its response is dropped", e);
        } else if (unwritten.getAndIncrement() == 0) {
            LOG.error("A response could not be written; callers will time out", e);
        }
    }

    /** Rejects later responses, because the worker closes. */
    public void close() {
        closed = true;
    }

    long unwritten() {
        return unwritten.get();
    }
}
