package io.waybill.home;

import io.waybill.host.Fifo;
import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Rings the doorbell of another worker; {@link Doorbell} describes the protocol.
 *
 * <p><b>Threads.</b> Thread-safe. <b>Ownership.</b> Its opener closes it; closing again does nothing. <b>Memory.</b>
 * Ringing allocates nothing while the other worker has its doorbell open.
 */
public final class PeerDoorbell implements AutoCloseable {
    private final Path path;
    private final SafeFiles files;
    // null while no thread waits at the other end
    private Fifo fifo;
    private boolean closed;

    private PeerDoorbell(Path path, SafeFiles files) {
        this.path = path;
        this.files = files;
    }

    /** Returns the doorbell of a worker, which need not be there yet. */
    public static PeerDoorbell of(Peer peer, SafeFiles files) {
        return of(peer.path(), files);
    }

    static PeerDoorbell of(Path workerDirectory, SafeFiles files) {
        return new PeerDoorbell(workerDirectory.resolve(Doorbell.FILE), files);
    }

    /**
     * Wakes the worker if it waits.
     *
     * @throws io.waybill.host.UnsafeFileException when the path is not a FIFO of this user
     */
    public synchronized void ring() throws IOException {
        if (closed) {
            return;
        }
        if (fifo == null && !open()) {
            return;
        }
        if (!fifo.pass()) {
            fifo.close();
            fifo = null; // the next worker of this name may have created a new one
        }
    }

    private boolean open() throws IOException {
        try {
            Optional<Fifo> opened = files.openFifo(path);
            fifo = opened.orElse(null);
            return opened.isPresent();
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    @Override
    public synchronized void close() {
        closed = true;
        if (fifo != null) {
            fifo.close();
            fifo = null;
        }
    }
}
