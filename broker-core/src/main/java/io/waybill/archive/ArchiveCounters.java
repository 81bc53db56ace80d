package io.waybill.archive;

import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;

/** What an archive counts. Thread-safe; each count only grows. */
final class ArchiveCounters {

    private final LongAdder storages = new LongAdder();
    private final LongAdder bytes = new LongAdder();
    private final AtomicLongArray dropped = new AtomicLongArray(ArchiveStatus.REASONS);

    void countArchived(long size) {
        storages.increment();
        bytes.add(size);
    }

    /** Returns how many there were before for this reason. */
    long countDropped(Omission why) {
        return dropped.getAndIncrement(why.code());
    }

    long storages() {
        return storages.sum();
    }

    long bytes() {
        return bytes.sum();
    }

    long dropped(int code) {
        return dropped.get(code);
    }
}
