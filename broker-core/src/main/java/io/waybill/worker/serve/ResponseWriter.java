package io.waybill.worker.serve;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.event.CallEvent;
import io.waybill.api.tensor.Tensor;
import io.waybill.handling.CallReports;
import io.waybill.handling.Failure;
import io.waybill.handling.OutgoingResponse;
import io.waybill.host.Clock;
import io.waybill.host.failure.ForeignErrors;
import io.waybill.journal.JournalFailedException;
import io.waybill.journal.JournalFullException;
import io.waybill.tensor.Plan;
import io.waybill.wire.Envelope;
import io.waybill.wire.MalformedRecordException;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import io.waybill.worker.metrics.OperationCounts;
import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.peer.CallErrors;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.peer.QueueAppender;
import io.waybill.worker.peer.TensorTransit;
import io.waybill.worker.poll.HandlerSlots;
import io.waybill.worker.reference.SentReferences;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Writes the responses of a worker to the journal, and then wakes their callers. Thread-safe. */
public final class ResponseWriter {

    private static final Logger LOG = LoggerFactory.getLogger(ResponseWriter.class);
    /** Max time that a response waits for its caller to release tensors. */
    private static final long MAX_WAIT_NS = 5_000_000_000L;
    /** Max wait on the poller, on which all calls wait: enough for a caller that is about to release tensors. */
    private static final long MAX_WAIT_ON_POLLER_NS = 10_000_000;

    private static final VarHandle LATEST;

    static {
        try {
            LATEST = MethodHandles.lookup().findVarHandle(ResponseWriter.class, "latestNs", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final int workerId;
    private final QueueAppender appender;
    private final Clock clock;
    private final TensorTransit transit;
    private final int maxRecordBytes;
    private final WorkerCounters counters;
    private final HandlerSlots invocations;
    private final CallReports reports;
    private final AtomicLong unwritten = new AtomicLong();
    private volatile boolean closed; // set by the thread that closes the worker
    private long latestNs; // by the responding thread, read by the polling one, most often the same

    public ResponseWriter(
            int workerId,
            QueueAppender appender,
            Clock clock,
            TensorTransit transit,
            int maxRecordBytes,
            HandlerSlots invocations,
            CallReports reports,
            WorkerCounters counters) {
        this.workerId = workerId;
        this.appender = appender;
        this.clock = clock;
        this.transit = transit;
        this.maxRecordBytes = maxRecordBytes;
        this.invocations = invocations;
        this.reports = reports;
        this.counters = counters;
    }

    /** Returns whether new requests may be begun: there is room for their responses. */
    boolean isComfortable() {
        return appender.journal().isComfortable()
                || toppedUp() && appender.journal().isComfortable();
    }

    /** Reserves more space at once, when the background reservation was outrun. */
    private boolean toppedUp() {
        try {
            appender.journal().topUp();
            return true;
        } catch (JournalFullException e) {
            return false;
        }
    }

    /** Returns when a response was written last, on the wall clock, without a clock read. */
    long latestNs() {
        return (long) LATEST.getOpaque(this);
    }

    /** Returns whether requests may be read: there is room at least for error responses. */
    boolean canRespond() {
        return appender.journal().hasRoomForResponses();
    }

    /**
     * Sends the handler's response, or else an error, unless the journal accepts none. Does not throw.
     *
     * @return whether the handler's response was sent
     */
    boolean send(PeerRequest request, long handlerSequence, ResponseBody body) {
        int length = body.length();
        if (!canRespond() && !isComfortable()) {
            fail(
                    request,
                    handlerSequence,
                    ErrorCode.JOURNAL_FULL,
                    "the request was handled, but there is no room on the journal's disk for its response of " + length
                            + " bytes");
            return false;
        }
        if (length > maxRecordBytes / 2) {
            fail(request, handlerSequence, ErrorCode.TOO_LARGE, tooLarge(length));
            return false;
        }
        PeerLink to = request.link();
        Plan plan = null;
        SentReferences sharing = null;
        boolean published = false;
        ResponseBody.OfError instead = null;
        try {
            plan = body.tensors().isEmpty() ? null : plan(body.tensors(), to);
            sharing = body.references().isEmpty() ? null : share(body, to);
            body.travelsWith(plan, sharing);
            body.fit(maxRecordBytes / 2);
            MessageType type = OutgoingResponse.typeFor(request.view().type());
            int flags = request.flags();
            published = append(
                    to, request.view(), request.counts().ofOperation(), type, handlerSequence, flags, body, null);
        } catch (CallException e) { // the tensors or the references can't be sent
            Failure failure = new Failure(e.kind(), e.code(), Failure.nodeError(workerId, e.getMessage()));
            instead = new ResponseBody.OfError(failure);
        } catch (Throwable e) { // the boundary around storages, which may be released or foreign code
            String text = "the response can't be sent: " + ForeignErrors.describe(e);
            instead = new ResponseBody.OfError(Failure.of(ErrorCode.HANDLER_FAILED, workerId, text));
        }
        try {
            if (!published) {
                SentReferences.takeBack(sharing, plan);
            }
        } finally {
            if (instead != null) {
                fail(request, handlerSequence, instead);
            }
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

    private void fail(PeerRequest request, long handlerSequence, ErrorCode code, String text) {
        Failure failure = Failure.of(code, workerId, text);
        fail(request, handlerSequence, new ResponseBody.OfError(failure));
    }

    /** Prepares the tensors; waits up to a limit while the caller has too many leases. */
    private Plan plan(List<Tensor> tensors, PeerLink to) {
        long untilNs = 0;
        while (true) {
            try {
                return transit.sender().plan(tensors, to.id(), to.devices().responses());
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
                LockSupport.parkNanos(this, 50_000);
            }
        }
    }

    /** Sends a recorded response again, for a repeated request. */
    void again(PeerLink to, RecordView response) {
        boolean leansOnItsCaller = response.hasReferences() || leases(response);
        if (leansOnItsCaller) {
            String text = "the response has references or tensors in a segment, which were for the first request";
            Failure gone = Failure.of(ErrorCode.RESPONSE_GONE, workerId, text);
            fail(to, response, null, response.handlerSequence(), 0, new ResponseBody.OfError(gone));
            return;
        }
        int length = response.buffer().length();
        long wallNs = clock.wallNs();
        appender.lock();
        try {
            MessageBuffer record = appender.buffer();
            record.reserve(length);
            record.memory().putBytes(0, response.buffer().memory(), 0, length);
            record.sentNs(wallNs).addFlag(Envelope.REPEATED);
            appender.journal().append(record, wallNs);
        } catch (JournalFullException | JournalFailedException e) {
            countUnwritten(e);
            return;
        } finally {
            appender.unlock();
        }
        appender.announce(to, response.id());
    }

    private boolean leases(RecordView response) {
        try {
            return transit.receiver().leases(response);
        } catch (MalformedRecordException e) {
            return true;
        }
    }

    /** Responds with an error. Does not throw. */
    void fail(PeerRequest request, long handlerSequence, ResponseBody.OfError error) {
        fail(request.link(), request.view(), request.counts().ofOperation(), handlerSequence, request.flags(), error);
    }

    private void fail(
            PeerLink to,
            RecordView request,
            OperationCounts counts,
            long handlerSequence,
            int flags,
            ResponseBody.OfError error) {
        counters.countFailure(error.code());
        try {
            append(to, request, counts, MessageType.EXCEPTION, handlerSequence, flags, error, error.code());
        } catch (RuntimeException | Error e) {
            countUnwritten(e);
            appender.lock();
            try {
                count(counts, error.code(), request, 0, clock.wallNs());
            } finally {
                appender.unlock();
            }
        }
    }

    /** Counts the outcome of a request. Under the lock of the appender. */
    private static void count(OperationCounts counts, ErrorCode error, RecordView request, int bytes, long nowNs) {
        if (counts != null) { // null for a response that is sent again
            counts.ended(error, nowNs - request.sentNs(), request.buffer().length(), bytes);
        }
    }

    int workerId() {
        return workerId;
    }

    /** Content of a response. */
    interface Content {

        int payloadLength();

        /** Returns the length of the tensor section; 0 without one. */
        default int sectionLength() {
            return 0;
        }

        /** Writes the content to a record that was begun with these lengths. */
        void write(MessageBuffer record);

        /** Called after the append. Under the lock of the appender. Does not throw. */
        default void appended(QueueAppender appender, long sequence, long id) {}

        /** Called when the response is published, before its receiver is notified. Does not throw. */
        default void published(QueueAppender appender, long id) {}
    }

    /**
     * Appends a response, and does what follows from that. Returns whether it was written; an exception says that it was not.
     *
     * @param counts null for a response that is sent again
     * @param error null for none
     */
    private boolean append(
            PeerLink to,
            RecordView request,
            OperationCounts counts,
            MessageType type,
            long handlerSequence,
            int flags,
            Content content,
            ErrorCode error) {
        long id = request.id();
        long wallNs = clock.wallNs();
        appender.lock();
        try {
            MessageBuffer record = appender.buffer();
            record.begin(type, id, workerId, to.id(), content.payloadLength(), content.sectionLength())
                    .flags(flags)
                    .sentNs(wallNs)
                    .parent(request.parent())
                    .handlerSequence(handlerSequence);
            content.write(record);
            long sequence = appender.journal().size();
            LATEST.setOpaque(this, wallNs);
            appender.journal().append(record, wallNs);
            // from here on the response is published: nothing changes that, and nothing is thrown
            try {
                content.appended(appender, sequence, id);
                count(counts, error, request, record.length(), wallNs);
            } catch (RuntimeException | Error e) {
                appender.failedBehind(id, "it could not be counted", e);
            }
        } catch (JournalFullException | JournalFailedException e) {
            countUnwritten(e);
            count(counts, error == null ? CallErrors.notWritten(e).code() : error, request, 0, wallNs);
            return false;
        } finally {
            appender.unlock();
        }
        content.published(appender, id);
        appender.announce(to, id);
        try {
            if (reports.wants(CallEvent.Kind.RESPONDED)) {
                report(to, request, content, error, wallNs);
            }
        } catch (RuntimeException | Error e) {
            appender.failedBehind(id, "it could not be reported to the listeners for events", e);
        }
        return true;
    }

    /** Reports by the thread that has begun the request; by another one if none has, as this one may have to go on polling. */
    private void report(PeerLink to, RecordView request, Content content, ErrorCode error, long wallNs) {
        int tensors = content instanceof ResponseBody body ? body.tensors().size() : 0;
        long bytes = Envelope.recordLength(content.payloadLength(), content.sectionLength());
        reports.responded(invocations.own().prepare(reports), request, to.id(), error, (int) bytes, tensors, wallNs);
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
