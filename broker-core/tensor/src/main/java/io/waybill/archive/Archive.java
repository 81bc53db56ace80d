package io.waybill.archive;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.archive.ArchiveWriter.Session;
import io.waybill.host.Host;
import io.waybill.host.Threads;
import io.waybill.host.agent.AgentThread;
import io.waybill.host.agent.ParkingIdleStrategy;
import io.waybill.host.agent.WakeableIdleStrategy;
import io.waybill.host.failure.CloseSteps;
import io.waybill.journal.JournalQueue;
import io.waybill.tensor.SentStorages;
import io.waybill.tensor.segment.RegionHolder;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.agrona.concurrent.Agent;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Copies the tensors that a worker sends through segments to its archive, off the path of a call. A region is not
 * reused before its bytes were copied or dropped; a call waits for the archive only with {@link ArchiveOverflow#WAIT}.
 *
 * <p><b>Threads.</b> Thread-safe. Copies on a thread of its own, of the lowest priority, which polls for work at
 * intervals: waking it for each message would cost the caller more than the message.
 *
 * <p><b>Ownership.</b> The worker closes it before its segments; waiting storages are then still archived, for at most
 * 10 s.
 */
public final class Archive implements RegionHolder, Agent, AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Archive.class);
    private static final long BUSY_PAUSE_NS = 20_000_000;
    private static final long IDLE_PAUSE_NS = 200_000_000;
    private static final long RESTING_PAUSE_NS = 1_000_000_000;
    private static final long BUSY_FOR_NS = 1_000_000_000;
    private static final long RESTS_AFTER_NS = 10_000_000_000L;
    private static final long PUBLISH_NS = 1_000_000_000;
    private static final long CLOSE_WAIT_NS = 10_000_000_000L;
    /** Fraction of the max waiting bytes, as a divisor, behind which the thread is woken. */
    private static final int WAKE_AT = 4;

    private final ArchiveSettings settings;
    private final Path workerDirectory;
    private final Host host;
    private final Backlog backlog;
    private final ArchiveSpace space;
    private final CopyPace pace;
    private final SegmentBytes segment;
    private final QueueArchive requests;
    private final QueueArchive responses;
    private final ArchiveStatus.Counters counters = new ArchiveStatus.Counters();
    private final WakeableIdleStrategy idle;
    private volatile boolean closed; // set by the closing thread, read by senders
    private volatile AgentThread thread; // null before it starts
    private boolean changed;
    private long busyUntilNs;
    private long publishedNs;

    /**
     * Opens the archive of a worker that has joined. With {@link ArchivePolicy#NONE} it does nothing, but for noting so
     * in files that an earlier process left.
     *
     * @param epoch epoch of the worker's incarnation
     * @param firstRequest sequence of the first request of this process
     * @param keepFreeBytes space that must stay free on the disk for the journals
     */
    public static Archive open(
            ArchiveSettings settings,
            Path workerDirectory,
            int worker,
            long epoch,
            Host host,
            long firstRequest,
            long firstResponse,
            long keepFreeBytes) {
        Session session = new Session(settings.policy(), epoch, firstRequest, Math.max(0, settings.largestKept()));
        Archive archive = new Archive(settings, workerDirectory, host, worker, session, firstResponse, keepFreeBytes);
        if (settings.policy() == ArchivePolicy.NONE) {
            archive.noteThatNothingIsKept();
        }
        return archive;
    }

    private Archive(
            ArchiveSettings settings,
            Path workerDirectory,
            Host host,
            int worker,
            Session session,
            long firstResponse,
            long keepFreeBytes) {
        this.settings = settings;
        this.workerDirectory = workerDirectory;
        this.host = host;
        this.backlog = new Backlog(
                settings.waitingBytes(), settings.keptPerSecond(), host.clock().monotonicNs());
        this.space = new ArchiveSpace(workerDirectory, host, settings.totalBytes(), keepFreeBytes);
        this.pace = new CopyPace(host.clock(), backlog::sentBytes, host.threads()::pause);
        this.segment = new SegmentBytes(host.files(), pace);
        this.requests = new QueueArchive(this, JournalQueue.REQUESTS, worker, session, host, workerDirectory);
        this.responses = new QueueArchive(
                this, JournalQueue.RESPONSES, worker, session.from(firstResponse), host, workerDirectory);
        this.idle = new ParkingIdleStrategy(host.clock(), host.threads());
    }

    private void noteThatNothingIsKept() {
        try {
            requests.noteThatNothingIsKept();
            responses.noteThatNothingIsKept();
        } catch (IOException | RuntimeException e) { // nothing depends on it
            LOG.warn("The archive in {} can't be read", workerDirectory, e);
        }
    }

    /** Returns the receiver of the storages of requests. */
    public SentStorages requests() {
        return settings.policy() == ArchivePolicy.NONE ? SentStorages.NONE : requests;
    }

    /** Returns the receiver of the storages of responses. */
    public SentStorages responses() {
        return settings.policy() == ArchivePolicy.NONE ? SentStorages.NONE : responses;
    }

    public void start(String workerName, Threads threads) {
        if (settings.policy() != ArchivePolicy.NONE) {
            LOG.info(
                    "Worker {} keeps a copy of the tensors that it sends, for replay: {}, in {}; archive.policy = none keeps"
                            + " nothing",
                    workerName,
                    settings.text(),
                    workerDirectory.resolve(ArchiveLayout.DIRECTORY));
            thread = new AgentThread(workerName + "-archive", this, idle);
            thread.start(threads);
        }
    }

    /** Adds a storage, on the path of a call. */
    void take(WaitingStorage storage) {
        if (storage.size > storage.queue.largestKept()) {
            giveUp(storage, Omission.TOO_LARGE);
        } else if (closed) {
            giveUp(storage, Omission.CLOSED);
        } else if (backlog.exceedsRate(storage)) {
            giveUp(storage, Omission.RATE);
        } else if (settings.overflow() == ArchiveOverflow.DROP && backlog.overflows(storage.size)) {
            giveUp(storage, Omission.OVERFLOW);
        }
        if (backlog.bytes() > settings.waitingBytes() / WAKE_AT) {
            idle.wake();
        }
        backlog.add(storage); // last: the backlog has not taken it if something throws
    }

    /** Drops a storage. Returns whether its bytes still waited. */
    private boolean giveUp(WaitingStorage storage, Omission why) {
        boolean waited = storage.giveUp(why);
        if (waited && counters.countDropped(why) == 0 && why != Omission.TOO_LARGE) {
            String text = "A tensor is not archived: " + why.text()
                    + ". Further ones are counted, and noted in the archive itself";
            if (why == Omission.RATE) { // works as configured
                LOG.info(text);
            } else {
                LOG.warn(text);
            }
        }
        return waited;
    }

    /** Drops a storage that the backlog counts. */
    private boolean drop(WaitingStorage storage, Omission why) {
        boolean waited = giveUp(storage, why);
        if (waited) {
            backlog.freed(storage.size);
        }
        return waited;
    }

    @Override
    public void requireRoom() {
        if (settings.overflow() == ArchiveOverflow.WAIT && backlog.isFull()) {
            throw mustWait();
        }
    }

    private CallException mustWait() {
        idle.wake();
        return new CallException(
                ErrorKind.UNKNOWN_ERROR,
                ErrorCode.BACK_PRESSURE,
                MessageId.NONE,
                backlog.bytes() + " bytes of tensors wait to be archived; archive.waiting-bytes is "
                        + settings.waitingBytes());
    }

    @Override
    public boolean giveWay() {
        if (backlog.bytes() == 0) {
            return false;
        }
        if (settings.overflow() == ArchiveOverflow.WAIT && !closed) {
            throw mustWait();
        }
        return dropAll(Omission.OVERFLOW);
    }

    private boolean dropAll(Omission why) {
        boolean some = false;
        for (WaitingStorage storage : backlog.all()) {
            some |= drop(storage, why);
        }
        return some;
    }

    @Override
    public String roleName() {
        return "archive";
    }

    @Override
    public void onStart() {
        host.calls().lowerPriority();
        busyUntilNs = host.clock().monotonicNs();
    }

    @Override
    public int doWork() {
        if (archiveAll()) {
            busyUntilNs = host.clock().monotonicNs() + BUSY_FOR_NS;
        }
        publish(PUBLISH_NS);
        idle.rest(pauseNs(host.clock().monotonicNs() - busyUntilNs));
        return 0;
    }

    /**
     * Returns the pause before the next poll. A tensor that waits holds its region, so a worker that sends some is
     * polled often.
     */
    private static long pauseNs(long idleNs) {
        if (idleNs < 0) {
            return BUSY_PAUSE_NS;
        }
        return idleNs < RESTS_AFTER_NS ? IDLE_PAUSE_NS : RESTING_PAUSE_NS;
    }

    /** Archives what was sent before {@link #close}. */
    @Override
    public void onClose() {
        try {
            new CloseSteps()
                    .attempt(this::archiveAll)
                    .attempt(() -> publish(0))
                    .attempt(requests::close)
                    .attempt(responses::close)
                    .attempt(segment::close)
                    .finish();
        } catch (IOException | RuntimeException | Error e) {
            LOG.warn("The archive in {} could not be closed in order", workerDirectory, e);
        }
    }

    /** Archives all that waits. Returns whether there was something. */
    private boolean archiveAll() {
        boolean some = false;
        for (WaitingStorage next = backlog.next(); next != null; next = backlog.next()) {
            some = true;
            try {
                archive(next);
            } finally {
                backlog.done(requests.notes() + responses.notes());
            }
            publish(PUBLISH_NS);
        }
        pace.rest();
        segment.close(); // releases the disk space of a segment that is removed
        writeNotes();
        writeGaps();
        return some;
    }

    private void archive(WaitingStorage storage) {
        changed = true;
        boolean begun = storage.begin();
        try {
            Omission why = begun ? refusal(storage) : storage.omission();
            if (why == null) {
                writeNotes(); // they do not wait for a copy
            }
            if (why == null && storage.queue.append(storage, segment.of(storage))) {
                backlog.freed(storage.size);
                counters.countArchived(storage.size);
                space.setFull(false);
                return;
            }
            omit(storage, why == null ? storage.omission() : why);
        } catch (IOException | RuntimeException | Error e) {
            failed(storage, e);
        } finally {
            space.written(storage.queue.takeGrowth());
        }
    }

    /** Returns why there is no room for a storage; null when there is. */
    private Omission refusal(WaitingStorage storage) throws IOException {
        long bytes = storage.size + 2 * ArchiveLayout.RECORD_BYTES;
        if (!space.isOnDisk(bytes)) {
            space.setFull(true);
            return Omission.DISK_FULL;
        }
        storage.queue.enter(storage);
        List<Path> inUse =
                Stream.of(requests, responses).flatMap(QueueArchive::inUse).toList();
        return space.isWithinQuota(bytes, inUse) ? null : Omission.QUOTA;
    }

    private void omit(WaitingStorage storage, Omission why) throws IOException {
        drop(storage, why);
        if (why == Omission.DISK_FULL) {
            storage.queue.remember(storage, why);
        } else {
            storage.queue.omit(storage, why);
        }
    }

    private void failed(WaitingStorage storage, Throwable e) {
        Omission why = QueueArchive.omissionOf(e);
        drop(storage, why);
        Omission first = storage.omission(); // the reason, when it was dropped meanwhile
        storage.queue.remember(storage, first == null ? why : first);
        if (why == Omission.DISK_FULL) {
            space.setFull(true);
            space.lookAgain();
            return;
        }
        String text = "Storage " + storage.storage + " of message " + MessageId.text(storage.id) + " is not archived";
        if (counters.dropped(why) <= 1) {
            LOG.warn(text, e);
        } else {
            LOG.debug(text, e);
        }
    }

    private void writeNotes() {
        requests.writeNotes();
        responses.writeNotes();
        backlog.written();
    }

    /** Writes the omissions that could not be written before. */
    private void writeGaps() {
        for (Backlog.Gap gap : backlog.takeSpilled()) {
            gap.queue.remember(gap);
        }
        try {
            requests.writeGaps();
            responses.writeGaps();
        } catch (IOException e) {
            space.lookAgain(); // retried later
        }
        space.written(requests.takeGrowth() + responses.takeGrowth());
    }

    private void publish(long everyNs) {
        long nowNs = host.clock().monotonicNs();
        if (!changed || nowNs - publishedNs < everyNs) {
            return;
        }
        publishedNs = nowNs;
        changed = backlog.count() > 0;
        Path path = ArchiveStatus.file(workerDirectory);
        try (var file = host.files().openOwnNative(path)) {
            status().write(file);
        } catch (IOException e) {
            LOG.debug("{} can't be written", path, e);
        }
    }

    /** Returns the lag, and counts of omissions. */
    public ArchiveStatus status() {
        return counters.status(settings.policy(), host.clock(), backlog, space.usedBytes());
    }

    /** Archives the waiting storages, for at most 10 s, and ends the thread. */
    @Override
    public void close() {
        closed = true;
        AgentThread running = thread;
        if (running != null) {
            running.stop();
            running.join(CLOSE_WAIT_NS);
            dropAll(Omission.CLOSED);
            running.close();
        }
    }
}
