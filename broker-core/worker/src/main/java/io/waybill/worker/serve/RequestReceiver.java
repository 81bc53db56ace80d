package io.waybill.worker.serve;

import io.waybill.handling.Delivered;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.Poll;
import io.waybill.wire.RecordView;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.peer.RecordReader;
import io.waybill.worker.poll.Polled;

/**
 * Reads the requests that peers sent to this worker, and passes them to the dispatcher.
 *
 * <p><b>Threads.</b> Belongs to the holder of the {@link io.waybill.worker.poll.PollPermit}.
 */
final class RequestReceiver {

    private static final int MAX_PER_POLL = 64;

    private final RequestDispatcher serving;
    private final RequestPool pool;
    private final RecordReader reader;
    // Null while a handler or the dispatcher uses it: if the permit is lost then, the next holder must not reuse it.
    private PeerRequest next;

    RequestReceiver(RequestDispatcher serving, RequestPool pool, RecordReader reader) {
        this.serving = serving;
        this.pool = pool;
        this.reader = reader;
    }

    RequestDispatcher serving() {
        return serving;
    }

    RecordReader reader() {
        return reader;
    }

    /**
     * Reads and serves requests of a peer, up to the limit of one poll.
     *
     * @return number of records for this worker that were read, at least 1 when the limit was reached, or
     *     {@link Polled#PERMIT_LOST}
     */
    int poll(PeerLink link) {
        if (!link.reader().readsRequests() || !link.backlog().isRecovered()) {
            return 0;
        }
        boolean isUnanswered = link.backlog().nextUnanswered() >= 0;
        if (!isUnanswered && !link.reader().mayHaveRequests() || !serving.isOpen()) {
            return 0;
        }
        if (isUnanswered) { // they come first
            return serveUnanswered(link);
        }
        if (!link.reader().isAddressed()) {
            return 0;
        }
        JournalTail tail = link.reader().requests();
        int reads = 0;
        int work = 0;
        // a later incarnation of the peer may be read by another link, from the position where this one stopped
        while (reads < MAX_PER_POLL && link.condition() == PeerLink.Condition.OPEN) {
            PeerRequest request = next();
            Poll found = reader.poll(tail, request.buffer());
            if (found == Poll.NONE) {
                link.reader().requestsReadToEnd();
                break;
            }
            reads++;
            if (found == Poll.SKIPPED) {
                link.reader().requestsSkipped();
            } else {
                work++;
                if (found == Poll.DAMAGED) {
                    RecordReader.requireReadable(tail);
                }
                boolean isServed = found == Poll.RECORD && isRequest(request.view(), link);
                if (isServed) { // before its position counts as read: see LowWatermarks
                    request.arrivedFrom(link, tail.lastIndex(), Delivered.FIRST);
                }
                boolean fromEarlier = isServed && link.isSelf() && serving.isForEarlier(request.view());
                link.reader().requestRead(request.buffer().length(), fromEarlier);
                if (found == Poll.DAMAGED) {
                    reader.damaged(link, tail.damage());
                } else if (!isServed) {
                    reader.damaged(
                            link,
                            "a record in the requests of " + link + " says that it is a "
                                    + request.view().type() + " of worker "
                                    + request.view().from());
                } else {
                    next = null;
                    if (!serving.serve(request)) {
                        return Polled.PERMIT_LOST;
                    }
                    keep(serving.takeSpare());
                    if (link.isSwept()) {
                        break;
                    }
                }
            }
        }
        return reads < MAX_PER_POLL ? work : Math.max(1, work);
    }

    /**
     * Serves requests to which an earlier incarnation of this worker did not respond; their peer may have ended.
     *
     * @return number of requests, or {@link Polled#PERMIT_LOST}
     */
    int serveUnanswered(PeerLink link) {
        int work = 0;
        while (work < MAX_PER_POLL && serving.isOpen() && link.backlog().nextUnanswered() >= 0) {
            work++;
            if (!serving.serveUnanswered(link)) {
                return Polled.PERMIT_LOST;
            }
        }
        return work;
    }

    private static boolean isRequest(RecordView record, PeerLink link) {
        return record.type().isRequest() && record.from() == link.id();
    }

    private PeerRequest next() {
        PeerRequest request = next;
        if (request == null) {
            request = pool.take();
            next = request;
        }
        return request;
    }

    /** Keeps an exchange for the next request, unless another thread that polled while a handler ran has left one. */
    private void keep(PeerRequest spare) {
        if (next == null) {
            next = spare;
        } else if (spare != null) {
            pool.give(spare);
        }
    }

    /** Drops a request that a failed read may have left incomplete. */
    void dropNext() {
        if (next != null) {
            next.dropped();
            pool.drop(next);
            next = null;
        }
    }
}
