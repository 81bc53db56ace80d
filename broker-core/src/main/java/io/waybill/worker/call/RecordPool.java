package io.waybill.worker.call;

import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import org.agrona.concurrent.ManyToManyConcurrentArrayQueue;

/** Pool of buffers for the records of responses. Thread-safe. */
public final class RecordPool {

    private static final int MAX_KEPT = 256;
    /** Maximum size of a pooled buffer, in bytes. */
    private static final int MAX_KEPT_BYTES = 1 << 20;

    private final ManyToManyConcurrentArrayQueue<RecordView> free = new ManyToManyConcurrentArrayQueue<>(MAX_KEPT);

    RecordView take() {
        RecordView record = free.poll();
        return record != null ? record : new RecordView(new MessageBuffer());
    }

    /** Returns to the pool a record without references to it. */
    void give(RecordView record) {
        if (record.buffer().memory().capacity() <= MAX_KEPT_BYTES) {
            free.offer(record); // a full pool leaves it to the garbage collector
        }
    }
}
