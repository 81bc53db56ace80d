package io.waybill.query;

import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;

/** Reader of several queues as one, by the send time of the records. One thread at a time. */
final class MergedQueues implements Closeable {

    private static final int READ_AHEAD_BYTES = 64 << 20; // all of them together

    private final List<QueueSource> sources;
    private final PriorityQueue<QueueSource> waiting = new PriorityQueue<>(
            Comparator.comparingLong((QueueSource source) -> source.header().sentNs()));
    private QueueSource current;

    MergedQueues(List<QueueSource> sources) throws IOException {
        this.sources = new ArrayList<>(sources);
        for (QueueSource source : sources) {
            source.readAhead(READ_AHEAD_BYTES / sources.size());
            if (source.next()) {
                waiting.add(source);
            }
        }
    }

    /** Returns the queue whose header is next; null if all are at their end. */
    QueueSource next() throws IOException {
        if (current != null && current.next()) {
            waiting.add(current);
        }
        current = waiting.poll();
        return current;
    }

    @Override
    public void close() {
        sources.forEach(QueueSource::close);
    }
}
