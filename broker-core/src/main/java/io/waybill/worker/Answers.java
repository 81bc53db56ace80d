package io.waybill.worker;

import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageType;
import io.waybill.host.Clock;
import io.waybill.journal.JournalFailedException;
import io.waybill.journal.JournalFullException;
import io.waybill.wire.MessageBuffer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes the responses of a worker: into the journal first, then the caller is woken.
 *
 * <p><b>Threads.</b> Any.
 */
final class Answers {

    private static final Logger LOG = LoggerFactory.getLogger(Answers.class);

    private final int workerId;
    private final Lane lane;
    private final Clock clock;
    private final int maxRecordBytes;
    private final WorkerCounters counters;
    private final AtomicLong unwritten = new AtomicLong();

    Answers(int workerId, Lane lane, Clock clock, int maxRecordBytes, WorkerCounters counters) {
        this.workerId = workerId;
        this.lane = lane;
        this.clock = clock;
        this.maxRecordBytes = maxRecordBytes;
        this.counters = counters;
    }

    /** Answers with what the handler gave. */
    void send(PeerLink to, long id, MessageType request, long parent, long handlerSequence, ReplyBody body) {
        int length = body.length();
        if (length > maxRecordBytes / 2) {
            fail(
                    to,
                    id,
                    parent,
                    handlerSequence,
                    ErrorKind.UNKNOWN_ERROR,
                    ErrorCode.TOO_LARGE,
                    nodeError("a payload has at most " + maxRecordBytes / 2 + " bytes, and the answer has " + length));
            return;
        }
        append(to, id, ReplyBody.typeFor(request), parent, handlerSequence, body.array(), length, null, null);
    }

    /** Answers with an error. */
    void fail(PeerLink to, long id, long parent, long handlerSequence, ErrorKind kind, ErrorCode code, String text) {
        byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
        int length = Math.min(utf8.length, 64 << 10);
        counters.countFailure(code);
        append(to, id, MessageType.EXCEPTION, parent, handlerSequence, utf8, length, kind, code);
    }

    /** PyTorch's prefix for errors that come from the broker or from decoding, and not from a handler's own words. */
    String nodeError(String text) {
        return "Error on Node " + workerId + ": " + text;
    }

    private void append(
            PeerLink to,
            long id,
            MessageType type,
            long parent,
            long handlerSequence,
            byte[] payload,
            int length,
            ErrorKind kind,
            ErrorCode code) {
        lane.lock();
        try {
            MessageBuffer record = lane.buffer();
            record.begin(type, id, workerId, to.id(), length, 0)
                    .flags(0)
                    .sentNs(clock.wallNs())
                    .parent(parent)
                    .handlerSequence(handlerSequence)
                    .payload(payload, 0, length);
            if (kind != null) {
                record.error(kind, code);
            }
            lane.journal().append(record);
        } catch (JournalFullException | JournalFailedException e) {
            // the request stays unanswered in the journal; its caller's deadline decides
            if (unwritten.getAndIncrement() == 0) {
                LOG.error("A response could not be written; callers will time out", e);
            }
            return;
        } finally {
            lane.unlock();
        }
        to.ringIfAsleep();
    }

    /** Responses that could not be written. */
    long unwritten() {
        return unwritten.get();
    }
}
