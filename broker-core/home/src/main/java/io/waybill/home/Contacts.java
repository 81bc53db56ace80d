package io.waybill.home;

import io.waybill.host.ChangeWatch;
import io.waybill.host.Fifo;
import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.IntConsumer;

/**
 * First contacts of a worker: the FIFO {@code contacts} in its directory, into which others write their ids, as four
 * bytes in the machine's order, when they begin to call it. So the worker reads only the queues of workers that call
 * it.
 *
 * <p>An id is a claim, and may be lost when the FIFO is full: a sender repeats it until the worker reads its queues.
 *
 * <p><b>Threads.</b> One at a time. <b>Ownership.</b> Opened and closed by the worker's directory.
 */
public final class Contacts implements AutoCloseable {
    static final String FILE = "contacts";

    private final Fifo fifo;

    private Contacts(Fifo fifo) {
        this.fifo = fifo;
    }

    static Contacts openOwn(Path workerDirectory, SafeFiles files) throws IOException {
        return new Contacts(files.openOwnFifo(workerDirectory.resolve(FILE)));
    }

    /** Announces to a peer that this worker begins to call it. */
    public static void announce(Peer peer, int ownId, SafeFiles files) throws IOException {
        try {
            Optional<Fifo> opened = files.openFifo(peer.path().resolve(FILE));
            if (opened.isPresent()) {
                try (Fifo fifo = opened.get()) {
                    fifo.passInt(ownId);
                }
            }
        } catch (NoSuchFileException e) {
            // the peer is just joining, and the announcement is repeated
        }
    }

    /** Lets new contacts end waits of {@code changes} until they are taken. */
    public void endWaitsOf(ChangeWatch changes) {
        fifo.endsWaitsOf(changes);
    }

    /** Passes on the ids that were written since the last call. */
    public void take(IntConsumer ids) {
        fifo.takeInts(ids);
    }

    @Override
    public void close() {
        fifo.close();
    }
}
