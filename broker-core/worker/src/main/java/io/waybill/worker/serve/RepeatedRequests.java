package io.waybill.worker.serve;

import io.waybill.api.MessageId;
import io.waybill.home.WorkerDirectory;
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
 * Requests that their callers sent again under their ids. A separate thread, which runs while there are such requests,
 * searches for this worker's responses to them.
 *
 * <p><b>Threads.</b> {@link #add}, {@link #isAnyFound} and {@link #takeFound} belong to the holder of the
 * {@link io.waybill.worker.poll.PollPermit}.
 */
final class RepeatedRequests {

    /** Max requests in one search. */
    static final int MAX = 16_384;

    private static final Logger LOG = LoggerFactory.getLogger(RepeatedRequests.class);

    /** Decision about a repeated request. */
    enum Verdict {
        /** Run: no handler had begun it. */
        RUN,
        /** Run as a redelivery: a handler may have begun it. */
        RUN_AGAIN,
        /** Done: the recorded response was sent again. */
        RESPONDED
    }

    /** A repeated request and the decision about it. */
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
    private final Set<Long> open = new HashSet<>(); // by the permit's holder
    private boolean running; // guarded by this

    RepeatedRequests(WorkerDirectory own, JournalSettings settings, ResponseWriter responses, Runnable foundListener) {
        this.host = own.home().host();
        this.workerName = own.name();
        this.directory = own.path();
        this.settings = settings;
        this.responses = responses;
        this.foundListener = foundListener;
    }

    /** Returns whether the response of a request with this id is being searched. */
    boolean has(long id) {
        return open.contains(id);
    }

    boolean isFull() {
        return open.size() >= MAX;
    }

    /** Searches for a response to a request that is neither in flight nor waits. */
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
        running = true;
        ParkingIdleStrategy idle = new ParkingIdleStrategy(host.clock(), host.threads());
        new AgentThread(workerName + "-repeats", new Search(), idle).startWhenPossible(host.threads());
    }

    /** Ends the search for all requests with an unknown result. */
    private void unknown(Throwable why) {
        LOG.error("The responses to {} repeated requests can't be looked for", asked.size(), why);
        for (Asked next = asked.poll(); next != null; next = asked.poll()) {
            found.add(new Found(next.link(), next.index(), next.id(), Verdict.RUN_AGAIN));
        }
    }

    boolean isAnyFound() {
        return !open.isEmpty() && !found.isEmpty();
    }

    /** Returns a request with a decision; null when there is none. The caller removes it from the unserved requests. */
    Found takeFound() {
        Found next = found.poll();
        if (next != null) {
            open.remove(next.id());
        }
        return next;
    }

    /** Searches for one response after the other until none is requested. */
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
            } catch (Throwable e) { // in any case: every request is continued, and later ones get a thread
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
        } catch (IOException | RuntimeException | Error e) { // a failure of the journal's files: the result is unknown
            LOG.error("The response to call {} can't be looked for", MessageId.text(repeat.id()), e);
            return Verdict.RUN_AGAIN;
        }
    }
}
