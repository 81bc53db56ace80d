package io.waybill.worker.call;

import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import org.agrona.concurrent.ManyToManyConcurrentArrayQueue;

/** Buffers for the records of responses. Thread-safe. */
public final class RecordPool {

    private static final int MAX_KEPT = 256;
    /** Size of the largest buffer that is kept, in bytes. */
    private static final int MAX_KEPT_BYTES = 1 << 20;

    private final ManyToManyConcurrentArrayQueue<RecordView> free = new ManyToManyConcurrentArrayQueue<>(MAX_KEPT);

    RecordView take() {
        RecordView record = free.poll();
        return record != null ? record : new RecordView(new MessageBuffer());
    }

    /** Takes back a record that nothing refers to any more. */
    void give(RecordView record) {
        if (record.buffer().memory().capacity() <= MAX_KEPT_BYTES) {
            free.offer(record); // one that does not fit is garbage
        }
    }
}
