package io.waybill.home;

import io.waybill.home.cursor.CursorSlot;
import io.waybill.home.cursor.Cursors;
import io.waybill.home.cursor.PeerCursors;
import io.waybill.host.Fifo;
import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.nio.file.Path;

/**
 * Wakes an idle worker: the FIFO {@code doorbell} in its directory. The bytes in it have no meaning.
 *
 * <p>No wake-up is lost, because each side does two things with a full fence between them, in opposite order:
 *
 * <pre>
 * owner sender
 * 1 {@link Cursors#markAsleep asleep = 1}, full fence 1 appends to its journal
 * 2 polls once more 2 {@link CursorSlot#announce counts} that, full fence
 * 3 nothing there: {@link #await} 3 reads the owner's {@link PeerCursors#isAsleepAfterFence asleep}
 * 4 {@link Cursors#markAwake asleep = 0} 4 rings when it is 1
 * </pre>
 *
 * Either the owner's second look finds the message, or the sender sees the owner asleep. A ring that comes too late or without
 * need only makes the owner look once more.
 *
 * <p><b>Threads.</b> One thread at a time waits; {@link #ring()} from any. <b>Memory.</b> Waiting allocates nothing.
 */
public final class Doorbell implements AutoCloseable {
    static final String FILE = "doorbell";

    private final Fifo fifo;

    private Doorbell(Fifo fifo) {
        this.fifo = fifo;
    }

    static Doorbell openOwn(Path workerDirectory, SafeFiles files) throws IOException {
        return new Doorbell(files.openOwnFifo(workerDirectory.resolve(FILE)));
    }

    /**
     * Waits for a ring, and takes all that there are.
     *
     * @return true when it rang; false after the timeout, or earlier when a signal interrupted the wait
     */
    public boolean await(long timeoutNs) {
        return fifo.await(timeoutNs);
    }

    /** Wakes the worker's own waiting thread, for what other threads of this process want of it; nothing once it is closed. */
    public void ring() throws IOException {
        fifo.pass();
    }

    @Override
    public void close() {
        fifo.close();
    }
}
