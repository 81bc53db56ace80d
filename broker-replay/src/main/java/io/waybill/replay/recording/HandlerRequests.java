package io.waybill.replay.recording;

import io.waybill.api.MessageId;
import java.io.Closeable;
import java.io.IOException;
import org.agrona.collections.LongHashSet;

/**
 * Reads what a worker sent alongside its responses, and so knows which of its handlers called no other: most don't, and asking an index about
 * each would take more time than all else. One thread.
 */
final class HandlerRequests implements Closeable {

    /** About 16 MB. */
    private static final int MAX_PARENTS = 1 << 20;

    private final QueueScan requests;
    private final LongHashSet parents = new LongHashSet();
    private long readUntilNs = Long.MIN_VALUE;

    /**
     * Creates a reader.
     *
     * @param requests of the worker, closed with this object
     */
    HandlerRequests(QueueScan requests) {
        this.requests = requests;
    }

    /** Whether the handler of a request that was responded to at this time is known to have called no other. */
    boolean isLeaf(long id, long respondedNs) throws IOException {
        while (readUntilNs <= respondedNs + CallLookup.LATE_CHILD_NS && parents.size() < MAX_PARENTS) {
            if (requests.next()) {
                readUntilNs = requests.record().sentNs();
                if (requests.record().parent() != MessageId.NONE) {
                    parents.add(requests.record().parent());
                }
            } else {
                readUntilNs = Long.MAX_VALUE;
            }
        }
        return parents.size() < MAX_PARENTS && !parents.contains(id);
    }

    @Override
    public void close() {
        requests.close();
    }
}
