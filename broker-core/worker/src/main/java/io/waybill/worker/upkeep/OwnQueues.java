package io.waybill.worker.upkeep;

import io.waybill.home.WorkerDirectory;
import io.waybill.home.cursor.Cursors;
import io.waybill.home.cursor.QueueNote;
import io.waybill.host.Clock;
import io.waybill.host.Host;
import io.waybill.host.SafeFiles;
import io.waybill.journal.LostFileException;
import io.waybill.journal.append.QueueWatch;
import io.waybill.journal.append.Written;
import io.waybill.worker.call.PendingCalls;
import io.waybill.worker.publish.QueueAppender;
import java.io.IOException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Monitors a worker's own queues, off the path of a call: writes their ends to the cursors, and checks that their files
 * exist and are complete.
 *
 * <p><b>Threads.</b> The housekeeper, and at the end the thread that closes the worker: one at a time.
 */
public final class OwnQueues {

    /** Interval of the check for lost files; with the housekeeper's wait less than a second. */
    private static final long LOOK_NS = 400_000_000;

    private static final long NOTE_NS = 100_000_000;
    /** Time without a record after which a queue releases the space that it has reserved beyond its first reserve. */
    private static final long REST_NS = 10_000_000_000L;

    private static final Logger LOG = LoggerFactory.getLogger(OwnQueues.class);

    private final String workerName;
    private final Cursors cursors;
    private final PendingCalls pending;
    private final Clock clock;
    private final Watched[] queues;
    private long nextNoteNs;
    private long nextLookNs;
    private boolean lost;
    private boolean unreadable;

    /** One of the queues. */
    private static final class Watched {
        private final QueueAppender appender;
        private final QueueNote note;
        private final QueueWatch watch;
        private Written last; // null when nothing was appended
        private Written shrunkAt; // null when nothing was released
        private long lastChangedNs;

        Watched(QueueAppender appender, QueueNote note, SafeFiles files) throws IOException {
            this.appender = appender;
            this.note = note;
            this.watch = QueueWatch.open(appender.journal(), files);
            note.oldestCycle(watch.oldestCycle());
        }
    }

    public OwnQueues(WorkerDirectory directory, PendingCalls pending, QueueAppender requests, QueueAppender responses)
            throws IOException {
        Host host = directory.home().host();
        this.workerName = directory.name();
        this.cursors = directory.cursors();
        this.pending = pending;
        this.clock = host.clock();
        this.queues = new Watched[] {
            new Watched(responses, cursors.responses(), host.files()),
            new Watched(requests, cursors.requests(), host.files())
        };
        this.nextNoteNs = clock.monotonicNs();
        this.nextLookNs = nextNoteNs + LOOK_NS;
    }

    /**
     * Writes the cursors and checks the files if it is time.
     *
     * @throws LostFileException when a file is missing, replaced or truncated, or a mapped file failed: once, and the
     * journal accepts no more records
     */
    void turn() throws LostFileException {
        long nowNs = clock.monotonicNs();
        if (nowNs - nextNoteNs >= 0) {
            nextNoteNs = nowNs + NOTE_NS;
            note();
            for (Watched queue : queues) {
                shrinkAfterRest(queue, nowNs);
            }
        }
        if (nowNs - nextLookNs >= 0 && !lost) {
            nextLookNs = nowNs + LOOK_NS;
            look();
        }
    }

    /** Writes to the cursors the ends of the queues, and the ids that were assigned. */
    public synchronized void note() {
        for (Watched queue : queues) {
            Written written = written(queue);
            if (written != null) {
                queue.note.written(written.endIndex(), written.nextSequence());
            }
        }
        cursors.nextCounter(Math.max(cursors.nextCounter(), pending.nextCounterNow()));
    }

    private static void shrinkAfterRest(Watched queue, long nowNs) {
        Written written = written(queue);
        if (written == null || written.equals(queue.shrunkAt)) {
            return;
        }
        if (!written.equals(queue.last)) {
            queue.last = written;
            queue.lastChangedNs = nowNs;
        } else if (nowNs - queue.lastChangedNs > REST_NS) {
            queue.appender.shrinkReserve();
            queue.shrunkAt = written;
        }
    }

    private static Written written(Watched queue) {
        queue.appender.lock();
        try {
            return queue.appender.journal().written();
        } finally {
            queue.appender.unlock();
        }
    }

    private void look() throws LostFileException {
        String problem = "";
        try {
            problem = cursors.problem();
            for (Watched queue : queues) {
                if (problem.isEmpty()) {
                    problem = problem(queue);
                }
            }
            unreadable = false;
        } catch (IOException e) {
            if (!unreadable) {
                unreadable = true;
                LOG.error(
                        "The files of worker {} can't be looked at; it is not seen when they are lost", workerName, e);
            }
        }
        if (!problem.isEmpty()) {
            lost = true;
            LostFileException failure = new LostFileException(problem);
            for (Watched queue : queues) {
                queue.appender.lock();
                try {
                    queue.appender.journal().fail(failure);
                } finally {
                    queue.appender.unlock();
                }
            }
            throw failure;
        }
    }

    private static String problem(Watched queue) throws IOException {
        InternalError fault;
        Written written;
        queue.appender.lock();
        try {
            fault = queue.appender.journal().fault();
            written = queue.appender.journal().written();
        } finally {
            queue.appender.unlock();
        }
        String problem = queue.watch.look(written);
        return problem.isEmpty() && fault != null
                ? queue.appender.journal().directory() + " can't be written: " + fault.getMessage()
                : problem;
    }
}
