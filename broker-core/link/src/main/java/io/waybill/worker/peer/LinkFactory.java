package io.waybill.worker.peer;

import io.waybill.home.Contacts;
import io.waybill.home.Members;
import io.waybill.home.Peer;
import io.waybill.home.PeerDoorbell;
import io.waybill.home.PeerState;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.cursor.CursorSlot;
import io.waybill.home.cursor.PeerCursors;
import io.waybill.host.SafeFiles;
import io.waybill.host.Threads;
import io.waybill.host.failure.MappedFaults;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.read.JournalTail;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.function.IntPredicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Opens the parts of a link to a peer: the tails of its two queues, its cursors, doorbell and segments.
 *
 * <p><b>Threads.</b> Guarded by the lock of {@link Links}.
 */
final class LinkFactory {

    private static final Logger LOG = LoggerFactory.getLogger(LinkFactory.class);

    private final WorkerDirectory own;
    private final SafeFiles files;
    private final boolean serves;
    private final JournalSettings journal;
    private final TensorTransit transit;

    LinkFactory(WorkerDirectory own, boolean serves, JournalSettings journal, TensorTransit transit) {
        this.own = own;
        this.files = own.home().host().files();
        this.serves = serves;
        this.journal = journal;
        this.transit = transit;
    }

    /**
     * Opens a link, on a thread of its own: Chronicle's objects keep the thread that created them, which in a call is a
     * thread of a bundle, and with it the bundle's class loader.
     *
     * @param first whether it is the first link to this peer
     * @param isGone whether a peer's slot in the cursors may be reused
     * @return null when the peer is starting, and its queues are not ready
     * @throws IOException when its files can't be used
     */
    PeerLink open(Peer peer, boolean first, IntPredicate isGone, Announcement announcement) throws IOException {
        Threads threads = own.home().host().threads();
        FutureTask<PeerLink> opening = new FutureTask<>(() -> openHere(peer, first, isGone, announcement));
        try {
            threads.start(own.name() + "-link", opening);
        } catch (Threads.RefusedException e) {
            throw new IOException(e.getMessage(), e);
        }
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    threads.await(opening, Long.MAX_VALUE);
                    return opening.get();
                } catch (InterruptedException e) { // it does not take long
                    interrupted = true;
                }
            }
        } catch (ExecutionException e) {
            throw thrown(e.getCause());
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static IOException thrown(Throwable cause) {
        if (cause instanceof RuntimeException unchecked) {
            throw unchecked;
        }
        if (cause instanceof Error error) {
            throw error;
        }
        return (IOException) cause;
    }

    private PeerLink openHere(Peer peer, boolean first, IntPredicate isGone, Announcement announcement)
            throws IOException {
        Thread.currentThread().setContextClassLoader(LinkFactory.class.getClassLoader()); // not the calling bundle's
        Path requestsPath = JournalQueue.REQUESTS.in(peer.path());
        Path responsesPath = JournalQueue.RESPONSES.in(peer.path());
        if (!isCreated(requestsPath) || !isCreated(responsesPath)) {
            if (peer.state() == PeerState.READY) {
                throw new IOException("its queues are gone from " + peer.path());
            }
            return null;
        }
        CursorSlot slot = own.cursors().slot(peer.id(), isGone, requestsBegin(peer));
        slot.incarnation(own.epoch()); // before the start is chosen: from here on the peer retains what it writes
        PeerCursors cursors = PeerCursors.open(peer.path(), peer.id(), files);
        if (peer.state() == PeerState.STARTING && peer.id() != own.id() && cursors.epoch() != peer.epoch()) {
            return null; // it may be recreating its queues
        }
        JournalTail responses = JournalTail.open(responsesPath, journal);
        JournalTail requests = null;
        try {
            positionResponses(responses, slot, first);
            if (serves) {
                requests = JournalTail.open(requestsPath, journal);
            }
            PeerReader reader = new PeerReader(
                    peer.name() + " (id " + peer.id() + ")",
                    own.id(),
                    slot,
                    cursors,
                    new PeerReader.Tails(requests, responses));
            PeerLink link = new PeerLink(peer, reader, PeerDoorbell.of(peer, files), transit.ways(peer), announcement);
            transit.linked(link);
            MappedFaults.surface();
            introduce(link, peer); // after this worker's slot for the peer is taken
            return link;
        } catch (IOException | RuntimeException | Error e) {
            if (requests != null) {
                requests.close();
            }
            responses.close();
            throw e;
        }
    }

    /** Repeats the announcement to peers that may have missed it, since they don't read calls in flight. */
    void introduceAgain(Collection<PeerLink> links, Members members) {
        for (PeerLink link : links) {
            try {
                Optional<Peer> peer = link.flow().expectsResponses() ? members.find(link.id()) : Optional.empty();
                if (peer.isPresent() && peer.get().epoch() == link.epoch()) {
                    introduce(link, peer.get());
                }
            } catch (IOException | InternalError e) {
                LOG.debug("Worker {} can't be reached for the announcement that this worker talks to it", link, e);
            }
        }
    }

    /**
     * Announces to the peer that this worker communicates with it, unless the peer reads this worker's queues already.
     */
    private void introduce(PeerLink link, Peer peer) throws IOException {
        if (!link.isSelf() && !link.isReadByPeer()) {
            Contacts.announce(peer, own.id(), files);
        }
    }

    /**
     * Returns the position in this worker's requests before which none is for a peer that has no slot in the cursors; 0
     * when earlier incarnations may have written some.
     */
    private long requestsBegin(Peer peer) {
        return peer.epoch() == 1 || own.cursorsAreExact()
                ? Math.max(0, own.cursors().requests().endIndex())
                : 0;
    }

    private boolean isCreated(Path queue) throws IOException {
        try {
            files.requireQueueDirectory(queue);
            return JournalTail.exists(queue);
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    /**
     * Positions the reader of responses. Calls to an earlier incarnation of the peer may wait for responses that a
     * later one wrote before this link was created, so reading continues at the position of the earlier link. No calls
     * wait for the first link.
     */
    private static void positionResponses(JournalTail responses, CursorSlot slot, boolean first) {
        if (first) {
            responses.moveToEnd();
            slot.responsesIndex(responses.nextIndex());
        } else if (slot.responsesIndex() <= 0 || !responses.moveTo(slot.responsesIndex())) {
            responses.moveToStart();
        }
    }
}
