package io.waybill.worker.serve;

import io.waybill.api.MessageId;
import io.waybill.host.Host;
import io.waybill.host.agent.AgentThread;
import io.waybill.host.agent.ParkingIdleStrategy;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.index.JournalIndex;
import io.waybill.wire.RecordView;
import io.waybill.worker.peer.PeerLink;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.AgentTerminationException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Requests that their callers sent again under their ids: what this worker has answered is looked for on a thread of its own, which lives
 * as long as there is something to look for.
 *
 * <p><b>Threads.</b> {@link #add}, {@link #isAnyFound} and {@link #takeFound} belong to the holder of the {@link io.waybill.worker.poll.PollPermit}.
 */
public final class RepeatedRequests {

    /** Of which answers are looked for at once. */
    static final int MAX = 16_384;

    private static final Logger LOG = LoggerFactory.getLogger(RepeatedRequests.class);

    /** What becomes of a repeated request. */
    enum Verdict {
        /** No handler had begun it. */
        RUN,
        /** One may have. */
        RUN_AGAIN,
        /** One has answered, and the response was sent again. */
        RESPONDED
    }

    /** A repeated request: which peer's, and where. */
    record Found(PeerLink link, long index, long id, Verdict verdict) {}

    private record Asked(PeerLink link, long index, long id) {}

    private final Host host;
    private final String workerName;
    private final Path directory;
    private final JournalSettings settings;
    private final ResponseWriter responses;
    private final Runnable foundListener;
    private final BlockingQueue<Asked> asked = new LinkedBlockingQueue<>();
    private final Queue<Found> found = new ConcurrentLinkedQueue<>();
    private final Set<Long> open = new HashSet<>(); // of the permit's holder
    private boolean running; // guarded by this

    public RepeatedRequests(
            Host host,
            String workerName,
            Path directory,
            JournalSettings settings,
            ResponseWriter responses,
            Runnable foundListener) {
        this.host = host;
        this.workerName = workerName;
        this.directory = directory;
        this.settings = settings;
        this.responses = responses;
        this.foundListener = foundListener;
    }

    /** Whether a request of this id is being looked for. */
    boolean has(long id) {
        return open.contains(id);
    }

    boolean isFull() {
        return open.size() >= MAX;
    }

    /** Looks for a response to a request that is neither in flight nor waits. */
    void add(PeerLink link, long index, long id) {
        open.add(id);
        link.backlog().unserved().add(index);
        synchronized (this) {
            asked.add(new Asked(link, index, id));
            if (!running) {
                start();
            }
        }
    }

    private void start() {
        try {
            new AgentThread(
                            workerName + "-repeats",
                            new Search(),
                            new ParkingIdleStrategy(host.clock(), host.threads()))
                    .start(host.threads()); // which waits for this lock
            running = true;
        } catch (OutOfMemoryError e) { // the host gives no more threads
            unknown(e);
        }
    }

    /** What is asked for can't be looked for: nothing is known of it then. */
    private void unknown(Throwable why) {
        LOG.error("The answers to {} repeated requests can't be looked for", asked.size(), why);
        for (Asked next = asked.poll(); next != null; next = asked.poll()) {
            found.add(new Found(next.link(), next.index(), next.id(), Verdict.RUN_AGAIN));
        }
    }

    boolean isAnyFound() {
        return !found.isEmpty();
    }

    /** What is to be done with one of them; null when nothing is found. It is the caller's to take it out of the unserved. */
    Found takeFound() {
        Found next = found.poll();
        if (next != null) {
            open.remove(next.id());
        }
        return next;
    }

    /** Looks for one response after the other until nothing is asked for. */
    private final class Search implements Agent {

        private JournalIndex own; // null until it is opened

        @Override
        public String roleName() {
            return "repeats";
        }

        @Override
        public int doWork() {
            try {
                if (own == null) {
                    own = JournalIndex.open(directory, settings, host);
                }
                Asked next = next();
                if (next != null) {
                    found.add(new Found(next.link(), next.index(), next.id(), look(next, own)));
                    foundListener.run();
                    return 1;
                }
            } catch (Throwable e) { // whatever it was: every request is gone on with, and those to come get a thread
                giveUp(e);
            }
            throw new AgentTerminationException(true);
        }

        @Override
        public void onClose() {
            if (own != null) {
                own.close();
            }
        }
    }

    private void giveUp(Throwable why) {
        synchronized (this) {
            unknown(why);
            running = false;
        }
        foundListener.run();
    }

    private synchronized Asked next() {
        Asked next = asked.poll();
        running = next != null;
        return next;
    }

    private Verdict look(Asked repeat, JournalIndex own) {
        try {
            if (own.find(JournalQueue.RESPONSES, repeat.id()).isEmpty()) {
                return Verdict.RUN_AGAIN; // its response was lost, or its record was
            }
            RecordView response = own.record(JournalQueue.RESPONSES);
            if (response.to() != repeat.link().id()) {
                return Verdict.RUN_AGAIN; // another worker's id
            }
            if (response.handlerSequence() == 0) {
                return response.isAcrossIncarnations() ? Verdict.RUN_AGAIN : Verdict.RUN;
            }
            responses.again(repeat.link(), response);
            return Verdict.RESPONDED;
        } catch (IOException | RuntimeException | Error e) { // of the journal's files: nothing is known then
            LOG.error("The answer to call {} can't be looked for", MessageId.text(repeat.id()), e);
            return Verdict.RUN_AGAIN;
        }
    }
}
