package io.waybill.worker.recover;

import io.waybill.journal.JournalSettings;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.Poll;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.nio.file.Path;
import java.util.Arrays;
import org.agrona.collections.Long2LongHashMap;
import org.agrona.collections.LongArrayList;

/**
 * Finds the requests of a peer that earlier incarnations of this worker had read without responding: all requests to
 * this worker between two positions, except those with a response.
 *
 * <p><b>Threads.</b> One at a time. <b>Memory.</b> Some {@value #MAX_AT_ONCE} ids at a time; where there are more, the
 * responses are read once for each part. <b>Errors.</b> Damaged records are skipped: they can't be run.
 */
public final class UnansweredScan {

    private static final int MAX_AT_ONCE = 1 << 18;
    private static final long NONE = -1;

    private final int workerId;
    private final long epoch;
    private final JournalSettings settings;
    private final Path responses;
    private final long responsesBefore;
    private final MessageBuffer buffer = new MessageBuffer();
    private final RecordView view = new RecordView(buffer);
    private long endOfEarlier;

    /**
     * Creates a scan.
     *
     * @param epoch of this incarnation, as records have it
     * @param responses the worker's own responses
     * @param responsesBefore number of responses that earlier incarnations wrote
     */
    public UnansweredScan(int workerId, long epoch, JournalSettings settings, Path responses, long responsesBefore) {
        this.workerId = workerId;
        this.epoch = epoch;
        this.settings = settings;
        this.responses = responses;
        this.responsesBefore = responsesBefore;
    }

    /**
     * Result of a scan.
     *
     * @param unanswered positions of the requests without a response, lowest first
     * @param end position of the first request that was not scanned
     * @param isWhole whether the scan reached the position to stop at. Otherwise the peer is most likely joining again,
     * and its queue is not ready yet
     */
    record Found(long[] unanswered, long end, boolean isWhole) {}

    /**
     * Scans a peer's requests.
     *
     * @param from the position to begin at; 0 or less for the queue's start
     * @param to the position to stop at; 0 or less for the first request to this incarnation, or the queue's end
     * @param responsesFrom the position in the responses to begin at; 0 or less for their start
     */
    Found find(Path requests, long from, long to, long responsesFrom) {
        LongArrayList unanswered = new LongArrayList();
        Long2LongHashMap asked = new Long2LongHashMap(NONE);
        try (JournalTail tail = JournalTail.open(requests, settings)) {
            moveTo(tail, from);
            boolean more = true;
            while (more) {
                more = read(tail, to, asked);
                removeResponded(asked, responsesFrom);
                asked.values().forEach(unanswered::addLong);
                asked.clear();
            }
            long[] sorted = unanswered.toLongArray();
            Arrays.sort(sorted);
            // after the last record of a file its reader may stand in the next, which a repair removes when it is empty
            boolean isWhole = to <= 0 || endOfEarlier >= to || settings.roll().sequenceInFile(to) == 0;
            return new Found(sorted, to > 0 ? to : endOfEarlier, isWhole);
        }
    }

    private static void moveTo(JournalTail tail, long position) {
        if (position <= 0 || !tail.moveTo(position)) {
            tail.moveToStart();
        }
    }

    /**
     * Reads up to one batch of requests. Returns whether there may be more. A request that was sent again counts at its
     * last position.
     */
    private boolean read(JournalTail tail, long to, Long2LongHashMap asked) {
        while (asked.size() < MAX_AT_ONCE) {
            Poll found = tail.poll(buffer, workerId);
            if (found == Poll.NONE || to > 0 && tail.lastIndex() >= to) {
                endOfEarlier = tail.nextIndex();
                return false;
            }
            if (found == Poll.RECORD && view.type().isRequest()) {
                if (to <= 0 && view.epoch() == epoch) {
                    endOfEarlier = tail.lastIndex();
                    return false;
                }
                asked.put(view.id(), tail.lastIndex());
            }
        }
        return true;
    }

    private void removeResponded(Long2LongHashMap asked, long responsesFrom) {
        if (asked.isEmpty()) {
            return;
        }
        try (JournalTail tail = JournalTail.open(responses, settings)) {
            moveTo(tail, responsesFrom);
            Poll found = tail.poll(buffer, JournalTail.ANY_RECEIVER);
            while (found != Poll.NONE && !(found == Poll.RECORD && view.sequence() >= responsesBefore)) {
                if (found == Poll.RECORD) {
                    asked.remove(view.id());
                }
                found = tail.poll(buffer, JournalTail.ANY_RECEIVER);
            }
        }
    }
}
