package io.waybill.archive;

import java.nio.file.Path;

/** Storages of which not even the omission could be written one by one. For one thread at a time. */
final class Gap {

    final QueueArchive queue;
    final Path file;
    final Omission why;
    long first;
    long last;
    long storages;

    Gap(WaitingStorage storage, Omission why) {
        this.queue = storage.queue;
        this.file = storage.file;
        this.why = why;
        this.first = storage.sequence;
        this.last = storage.sequence;
        this.storages = 1;
    }

    /** Takes one more of the same file for the same reason; false when it is none. */
    boolean take(WaitingStorage storage, Omission itsReason) {
        if (!file.equals(storage.file) || why != itsReason) {
            return false;
        }
        first = Math.min(first, storage.sequence);
        last = Math.max(last, storage.sequence);
        storages++;
        return true;
    }
}
