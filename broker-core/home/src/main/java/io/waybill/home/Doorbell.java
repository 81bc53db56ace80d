package io.waybill.home;

import io.waybill.home.cursor.CursorSlot;
import io.waybill.home.cursor.Cursors;
import io.waybill.home.cursor.PeerCursors;
import io.waybill.host.ChangeWatch;
import io.waybill.host.Fifo;
import io.waybill.host.Host;
import io.waybill.host.Threads;
import io.waybill.host.failure.CloseSteps;
import java.io.IOException;
import java.nio.file.Path;
import java.util.function.LongPredicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Doorbell of an idle worker: the FIFO {@code doorbell} in its directory. The bytes in it have no meaning.
 *
 * <p>No wake-up is lost, because each side does two things with a full fence between them, in opposite order:
 *
 * <pre>
 *   owner                                        sender
 *   1  marks itself asleep, full fence           1  appends to its journal
 *   2  polls once more                           2  counts that for the owner, full fence
 *   3  finds nothing: waits here                 3  reads the owner's mark
 *   4  marks itself awake                        4  rings if it is asleep
 * </pre>
 *
 * The marks are {@link Cursors#markAsleep} and {@link Cursors#markAwake}, the wait {@link #await}, the count
 * {@link CursorSlot#announce}, and the sender's check {@link PeerCursors#isAsleepAfterFence}. Either the owner's second
 * poll finds the message, or the sender sees the owner asleep. A late or needless ring only makes the owner poll once
 * more.
 *
 * <p>While the poller sleeps here, a caller that waits for its response may {@linkplain #divert divert} the rings to
 * itself: they wake it in place of the poller, which continues to sleep. When it {@linkplain #restore restores} them, a
 * ring that it has not taken wakes the poller.
 *
 * <p><b>Threads.</b> One at a time in {@link #await}, and one from {@link #divert} to {@link #restore}; the rest by
 * any. <b>Memory.</b> Waiting and diverting allocate nothing.
 */
public final class Doorbell implements AutoCloseable {
    static final String FILE = "doorbell";

    private static final Logger LOG = LoggerFactory.getLogger(Doorbell.class);

    private final Fifo fifo;
    private final ChangeWatch watch; // watches the FIFO, unless it is diverted, and wake()
    private final Threads threads;
    private final LongPredicate ownWait;
    private final LongPredicate divertedWait;
    private volatile boolean diverted; // written by the thread that diverts

    private Doorbell(Fifo fifo, ChangeWatch watch, Threads threads) {
        this.fifo = fifo;
        this.watch = watch;
        this.threads = threads;
        this.ownWait = watch::await;
        this.divertedWait = fifo::await;
    }

    static Doorbell openOwn(Path workerDirectory, Host host) throws IOException {
        Fifo fifo = host.files().openOwnFifo(workerDirectory.resolve(FILE));
        try {
            return new Doorbell(fifo, fifo.openWatch(), host.threads());
        } catch (IOException | RuntimeException | Error e) {
            fifo.close();
            throw e;
        }
    }

    /**
     * Waits for a ring, unless rings are diverted, or for {@link #wake}, and takes all pending rings. Returns
     * immediately when the doorbell is closed.
     *
     * @return false after the timeout, or earlier when a signal interrupted the wait
     */
    public boolean await(long timeoutNs) {
        boolean woken = threads.await(ownWait, timeoutNs);
        if (woken && !diverted) {
            fifo.drain();
        }
        return woken;
    }

    /** Wakes the thread in {@link #await}, whether the rings are diverted or not. */
    public void wake() {
        watch.wake();
    }

    /** Diverts the rings to the calling thread. */
    public void divert() {
        diverted = true;
        attend(false);
    }

    /**
     * Waits for a ring, and takes all pending rings. Only for the thread that has diverted them.
     *
     * @return false after the timeout, or earlier when a signal interrupted the wait
     * @throws IllegalStateException when it is closed
     */
    public boolean awaitDiverted(long timeoutNs) {
        return threads.await(divertedWait, timeoutNs);
    }

    /** Lets rings wake the owner again. */
    public void restore() {
        diverted = false;
        attend(true);
    }

    private void attend(boolean attends) {
        try {
            fifo.attend(watch, attends);
        } catch (IOException e) { // from a call that needs no memory
            LOG.warn("The rings of {} may wake no thread until its poller looks by itself", fifo, e);
        }
    }

    /** Rings the worker's own doorbell, as a peer does; does nothing once it is closed. */
    public void ring() throws IOException {
        fifo.pass();
    }

    @Override
    public void close() {
        CloseSteps steps = new CloseSteps();
        steps.attempt(watch::close).attempt(fifo::close).finishUnchecked();
    }
}
