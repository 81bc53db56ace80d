package io.waybill.replay.recording;

import io.waybill.api.MessageId;
import java.io.Closeable;
import java.io.IOException;
import org.agrona.collections.LongHashSet;

/**
 * Reads a worker's requests alongside its responses, to find handlers without nested calls: most handlers have none,
 * and an index lookup for each would dominate the time. One thread.
 */
final class HandlerRequests implements Closeable {

    /** Max number of parents: about 16 MB. */
    private static final int MAX_PARENTS = 1 << 20;

    private final QueueScan requests;
    private final LongHashSet parents = new LongHashSet();
    private long readUntilNs = Long.MIN_VALUE;

    /**
     * Creates a reader.
     *
     * @param requests requests of the worker, closed with this object
     */
    HandlerRequests(QueueScan requests) {
        this.requests = requests;
    }

    /** Returns whether the handler of a request with a response at this time is known to have no nested calls. */
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
