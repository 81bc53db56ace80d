package io.waybill.tensor.segment;

import io.waybill.api.tensor.Storage;
import io.waybill.host.Threads;
import io.waybill.host.failure.ForeignErrors;
import java.util.ArrayDeque;
import java.util.Deque;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Background releases of counts of storages on devices that leases held. Such a storage is of a bundle's class, which
 * may block or throw, and a lease ends under a lock, on any thread: therefore they are released on a separate thread,
 * which exists while there is work, and for a second more.
 *
 * <p><b>Threads.</b> Thread-safe.
 */
public final class StorageReleases {

    private static final Logger LOG = LoggerFactory.getLogger(StorageReleases.class);
    private static final long IDLE_MS = 1000;

    private final String threadName;
    private final Threads threads;
    // guarded by this
    private final Deque<Storage> waiting = new ArrayDeque<>();
    private boolean hasThread;

    public StorageReleases(String threadName, Threads threads) {
        this.threadName = threadName;
        this.threads = threads;
    }

    /** Acquires the caller's count, to be released later. Does not wait. */
    synchronized void later(Storage storage) {
        waiting.add(storage);
        if (hasThread) {
            notifyAll();
            return;
        }
        hasThread = true;
        threads.startWhenPossible(threadName, this::run);
    }

    private void run() {
        for (Storage next = next(); next != null; next = next()) {
            Thread.interrupted(); // interrupt of the release before
            try {
                next.release();
            } catch (Throwable e) { // the boundary around a storage
                ForeignErrors.warn(LOG, "A storage that a receiver shared could not be given back", e);
            }
        }
    }

    /** Returns the next storage; null when the thread is to end. */
    private synchronized Storage next() {
        boolean hasWaited = false;
        while (waiting.isEmpty()) {
            if (hasWaited) {
                hasThread = false;
                return null;
            }
            try {
                threads.waitOn(this, IDLE_MS);
            } catch (InterruptedException e) { // interrupted by a bundle, by mistake
                LOG.debug("interrupted", e);
            }
            hasWaited = true;
        }
        return waiting.remove();
    }
}
