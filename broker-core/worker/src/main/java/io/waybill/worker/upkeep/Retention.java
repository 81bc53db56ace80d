package io.waybill.worker.upkeep;

import io.waybill.home.WorkerDirectory;
import io.waybill.home.WorkerRecord;
import io.waybill.home.cursor.Cursors;
import io.waybill.host.Clock;
import io.waybill.host.SafeFiles;
import io.waybill.host.Threads;
import io.waybill.host.agent.AgentThread;
import io.waybill.host.agent.ParkingIdleStrategy;
import io.waybill.host.agent.WakeableIdleStrategy;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.QueueFile;
import io.waybill.journal.QueueFiles;
import io.waybill.journal.Quota;
import io.waybill.journal.RetentionSettings;
import io.waybill.worker.call.PendingCalls;
import io.waybill.worker.publish.QueueAppender;
import io.waybill.worker.upkeep.QueueReaders.Need;
import io.waybill.worker.upkeep.QueueReaders.Which;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.agrona.concurrent.Agent;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Removes the files of this worker's journal that are too old, too many or too large, oldest first, as far as no reader
 * needs them.
 *
 * <p>Requests that a live peer has not read stay, and requests to which this worker waits for a response. Records that
 * an ended peer has not read stay for a limited time, but not when the quota is reached: a process that was killed must
 * not stop a node.
 *
 * <p><b>Threads.</b> One of its own; {@link #wake} by any.
 */
public final class Retention implements Agent {

    private static final Logger LOG = LoggerFactory.getLogger(Retention.class);
    private static final long LOOK_NS = 1_000_000_000L;
    /** Min time between two checks while a reader holds back files, however often space is requested. */
    private static final long HELD_PAUSE_NS = 50_000_000L;

    private static final int MAX_FILES = 100_000;
    private static final String OWN_CALLS = "this worker's own calls without an outcome";

    private final WorkerDirectory directory;
    private volatile RetentionSettings settings; // set by the thread that retains, read by this one
    private final long headroomBytes;
    private final SafeFiles files;
    private final Clock clock;
    private final Quota quota;
    private final QueueReaders readers;
    private final PendingCalls pending;
    private final Map<JournalQueue, QueueAppender> appenders = new EnumMap<>(JournalQueue.class);
    private final Map<JournalQueue, QueueFiles> queues = new EnumMap<>(JournalQueue.class);
    private final Map<JournalQueue, List<QueueFile>> found = new EnumMap<>(JournalQueue.class);
    private String held = "";
    private String shown = "";
    private final WakeableIdleStrategy idle;
    private long lookedNs; // monotonic clock
    private volatile boolean closed;
    private volatile boolean wanted; // set by the thread that reserves, cleared by this one
    private volatile AgentThread thread; // null while nothing is removed

    public Retention(UpkeepContext context, RetentionSettings settings, Quota quota, QueueReaders readers) {
        this.directory = context.directory();
        this.settings = settings;
        this.headroomBytes = headroom(settings, context.journal());
        this.files = directory.home().host().files();
        this.clock = directory.home().host().clock();
        this.idle = new ParkingIdleStrategy(clock, directory.home().host().threads());
        this.quota = quota;
        this.readers = readers;
        this.pending = context.pending();
        appenders.put(JournalQueue.REQUESTS, context.requests());
        appenders.put(JournalQueue.RESPONSES, context.responses());
        for (JournalQueue queue : JournalQueue.values()) {
            queues.put(queue, new QueueFiles(directory.path(), queue, files));
        }
    }

    /** Returns the number of bytes that the writers may reserve until the next check. */
    private static long headroom(RetentionSettings settings, JournalSettings journal) {
        return 2 * journal.reserveBytes() + settings.maxBytes() / 16;
    }

    public void start(String workerName, Threads threads) throws IOException {
        for (QueueFiles queue : queues.values()) {
            queue.clean();
        }
        if (settings.limits()) {
            quota.onScarce(settings.maxBytes() - headroomBytes, this::wake);
            measureFirst();
            begin(workerName, threads);
        }
    }

    private void begin(String workerName, Threads threads) {
        thread = new AgentThread(workerName + "-retention", this, idle);
        thread.startWhenPossible(threads);
    }

    /** Replaces the limits by age and by count, and checks. The quota stays. Any thread. */
    public synchronized void retain(Duration maxAge, int maxCycles) {
        settings = settings.withMaxAge(maxAge).withMaxCycles(maxCycles);
        if (thread == null && settings.limits() && !closed) {
            begin(directory.name(), directory.home().host().threads());
        } else {
            wake();
        }
    }

    /** Measures the queues once, so that the quota holds from the first call on. */
    private void measureFirst() {
        try {
            measure();
        } catch (IOException e) {
            LOG.debug(
                    "The journal's files can't be looked at; the first look by the thread tells whether it stays so",
                    e);
        }
    }

    @Override
    public String roleName() {
        return "retention";
    }

    @Override
    public int doWork() {
        long pastNs = clock.monotonicNs() - lookedNs;
        if (!held.isEmpty() && pastNs < HELD_PAUSE_NS) {
            idle.rest(HELD_PAUSE_NS - pastNs);
            return 0;
        }
        wanted = false;
        try {
            look();
        } catch (IOException e) {
            throw new UncheckedIOException(
                    "the journal's files can't be read, and none is removed: " + e.getMessage(), e);
        } finally {
            lookedNs = clock.monotonicNs();
        }
        idle.rest(LOOK_NS);
        return 0;
    }

    /** Requests a check because space is low. Any thread. */
    void wake() {
        if (!wanted) {
            wanted = true;
            idle.wake();
        }
    }

    /** Checks once, and removes the files that are due. */
    void look() throws IOException {
        measure();
        readers.look();
        held = "";
        boolean more = true;
        while (more && !closed) {
            more = false;
            for (JournalQueue queue : JournalQueue.values()) {
                more |= removeIfTooMany(queue);
            }
            more |= removeForQuota();
        }
        show();
    }

    private void measure() throws IOException {
        long reservedBefore = quota.reservedBytes();
        long bytes = bytesIn(directory.path().resolve("index"));
        for (JournalQueue queue : JournalQueue.values()) {
            List<QueueFile> there = queues.get(queue).list();
            found.put(queue, there);
            bytes += there.stream().mapToLong(QueueFile::bytes).sum();
        }
        quota.measured(bytes, reservedBefore);
    }

    private long bytesIn(Path flat) throws IOException {
        long bytes = 0;
        try {
            for (Path file : files.list(flat, MAX_FILES)) {
                bytes += bytesOf(file);
            }
        } catch (NoSuchFileException e) {
            return 0;
        }
        return bytes;
    }

    private long bytesOf(Path file) throws IOException {
        try {
            return files.allocatedBytes(file);
        } catch (NoSuchFileException e) {
            return 0;
        }
    }

    /** Removes one file by count or age. Returns whether it did. */
    private boolean removeIfTooMany(JournalQueue queue) throws IOException {
        List<QueueFile> there = found.get(queue);
        if (there.isEmpty()) {
            return false;
        }
        QueueFile oldest = there.get(0);
        long ageMs = clock.wallNs() / 1_000_000 - oldest.lastWrittenMs();
        boolean due = settings.maxCycles() > 0 && there.size() > settings.maxCycles()
                || settings.maxAge().toMillis() > 0 && ageMs > settings.maxAge().toMillis();
        return due && removeOldest(queue, Which.LIVE_AND_ABSENT);
    }

    /** Removes the older of the queues' oldest files by size. Returns whether it did. */
    private boolean removeForQuota() throws IOException {
        if (settings.maxBytes() == 0 || quota.usedBytes() + headroomBytes <= settings.maxBytes()) {
            return false;
        }
        List<QueueFile> requests = found.get(JournalQueue.REQUESTS);
        List<QueueFile> responses = found.get(JournalQueue.RESPONSES);
        boolean requestsFirst = !requests.isEmpty()
                && (responses.isEmpty()
                        || requests.get(0).lastWrittenMs() <= responses.get(0).lastWrittenMs());
        JournalQueue first = requestsFirst ? JournalQueue.REQUESTS : JournalQueue.RESPONSES;
        JournalQueue second = requestsFirst ? JournalQueue.RESPONSES : JournalQueue.REQUESTS;
        return removeOldest(first, Which.LIVE) || removeOldest(second, Which.LIVE);
    }

    private boolean removeOldest(JournalQueue queue, Which which) throws IOException {
        List<QueueFile> there = found.get(queue);
        int newest = appenders.get(queue).journal().currentCycle();
        if (there.isEmpty() || there.get(0).cycle() >= newest) {
            return false;
        }
        QueueFile oldest = there.get(0);
        Need need = readers.need(queue, there, newest, which);
        if (queue == JournalQueue.REQUESTS) {
            need = need.or(oldestPending(), OWN_CALLS);
        }
        if (oldest.cycle() >= need.cycle()) {
            held = queue.directoryName() + " held back by " + need.by();
            return false;
        }
        remove(oldest, there.size() > 1 ? there.get(1).cycle() : newest);
        found.put(queue, there.subList(1, there.size()));
        return true;
    }

    private int oldestPending() {
        long oldest = pending.oldest();
        return oldest < 0
                ? Integer.MAX_VALUE
                : appenders.get(JournalQueue.REQUESTS).journal().cycleOf(oldest);
    }

    private void remove(QueueFile file, int nextCycle) throws IOException {
        QueueAppender appender = appenders.get(file.queue());
        Cursors cursors = directory.cursors();
        (file.queue() == JournalQueue.REQUESTS ? cursors.requests() : cursors.responses()).oldestCycle(nextCycle);
        appender.journal().removing(nextCycle); // first, so that the watch does not report it as lost
        queues.get(file.queue()).remove(file, () -> {
            appender.lock();
            try {
                appender.journal().removedBelow(file.cycle() + 1);
            } finally {
                appender.unlock();
            }
        });
        quota.removed(file.bytes());
        LOG.debug("{} was removed: {} bytes", file.path(), file.bytes());
    }

    private void show() throws IOException {
        if (held.equals(shown) || closed) {
            return;
        }
        shown = held;
        if (!held.isEmpty()) {
            LOG.warn(
                    "Files of the journal that should be removed can't be: {} ({} bytes are in use)",
                    held,
                    quota.usedBytes());
        }
        directory.show(WorkerRecord.RETENTION, held);
    }

    /** Ends the thread, and waits until it has ended. */
    public synchronized void close() {
        closed = true;
        if (thread != null) {
            thread.close();
        }
    }
}
