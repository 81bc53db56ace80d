package io.waybill.replay;

import io.waybill.api.MessageId;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Some of the requests whose handlers called nobody, as far as somebody found out who went through the journals in order: most requests
 * are such, and to ask an index for each is what takes time. Thread-safe: one thread adds, another one asks.
 */
final class Childless {

    private static final int SLOTS = 1 << 16;

    private final AtomicLongArray ids = new AtomicLongArray(SLOTS);

    Childless() {
        for (int slot = 0; slot < SLOTS; slot++) {
            ids.setPlain(slot, MessageId.NONE);
        }
    }

    /** Forgets another one, maybe. */
    void add(long id) {
        ids.setRelease(slot(id), id);
    }

    /** Whether it is known of this request. */
    boolean has(long id) {
        return id != MessageId.NONE && ids.getAcquire(slot(id)) == id;
    }

    private static int slot(long id) {
        return (int) id & SLOTS - 1;
    }
}
