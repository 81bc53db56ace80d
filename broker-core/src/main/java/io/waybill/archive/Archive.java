package io.waybill.archive;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.host.Host;
import io.waybill.host.Threads;
import io.waybill.host.failure.CloseSteps;
import io.waybill.journal.JournalQueue;
import io.waybill.tensor.RegionHolder;
import io.waybill.tensor.SentStorages;
import java.io.IOException;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Copies the tensors that a worker sends through segments into its archive, behind the calls. A region is not used again before its bytes
 * were copied or given up; nothing else of a call waits for it, unless {@link ArchiveOverflow#WAIT} says so.
 *
 * <p><b>Threads.</b> Thread-safe. Copies on a thread of its own, of the lowest priority, which looks for work now and then: waking it for
 * each message would cost the caller more than the message.
 *
 * <p><b>Ownership.</b> The worker closes it before its segments; what waits then is still archived, for a while.
 */
public final class Archive implements RegionHolder, AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Archive.class);
    private static final long BUSY_PAUSE_NS = 20_000_000;
    private static final long IDLE_PAUSE_NS = 200_000_000;
    private static final long BUSY_FOR_NS = 1_000_000_000;
    private static final long PUBLISH_NS = 1_000_000_000;
    private static final long CLOSE_WAIT_NS = 10_000_000_000L;
    /** Behind this part of what may wait, the thread is woken. */
    private static final int WAKE_AT = 4;

    private final ArchiveSettings settings;
    private final Path workerDirectory;
    private final Host host;
    private final Backlog backlog;
    private final ArchiveSpace space;
    private final Pace pace;
    private final SegmentBytes segment;
    private final QueueArchive requests;
    private final QueueArchive responses;
    private final ArchiveCounters counters = new ArchiveCounters();
    private volatile boolean closed; // set by who closes, read by senders and the archive's thread
    private volatile boolean resting; // set by the archive's thread, read by senders
    private volatile Thread thread;
    private boolean diskFull;
    private boolean changed;
    private long publishedNs;

    /**
     * The archive of a worker that has joined. With {@link ArchivePolicy#NONE} it does nothing, but for saying so in files that an earlier
     * process left.
     *
     * @param epoch of the worker
     * @param firstRequest sequence of the first request of this process
     * @param keepFreeBytes what must stay free on the disk for the journals
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
        Archive archive = new Archive(
                settings,
                workerDirectory,
                host,
                worker,
                session(settings, epoch, firstRequest),
                session(settings, epoch, firstResponse),
                keepFreeBytes);
        if (settings.policy() == ArchivePolicy.NONE) {
            archive.sayThatNothingIsKept();
        }
        return archive;
    }

    private static ArchiveSession session(ArchiveSettings settings, long epoch, long firstSequence) {
        return new ArchiveSession(settings.policy(), epoch, firstSequence, Math.max(0, settings.largestKept()));
    }

    private Archive(
            ArchiveSettings settings,
            Path workerDirectory,
            Host host,
            int worker,
            ArchiveSession ofRequests,
            ArchiveSession ofResponses,
            long keepFreeBytes) {
        this.settings = settings;
        this.workerDirectory = workerDirectory;
        this.host = host;
        this.backlog = new Backlog(settings.waitingBytes());
        this.space =
                new ArchiveSpace(workerDirectory, host.files(), host.clock(), settings.totalBytes(), keepFreeBytes);
        this.pace = new Pace(host.clock(), backlog::sentBytes, LockSupport::parkNanos);
        this.segment = new SegmentBytes(host.files(), pace);
        this.requests = new QueueArchive(this, JournalQueue.REQUESTS, worker, ofRequests, host, workerDirectory);
        this.responses = new QueueArchive(this, JournalQueue.RESPONSES, worker, ofResponses, host, workerDirectory);
    }

    private void sayThatNothingIsKept() {
        try {
            requests.sayThatNothingIsKept();
            responses.sayThatNothingIsKept();
        } catch (IOException | RuntimeException e) { // nothing depends on it
            LOG.warn("The archive in {} can't be read", workerDirectory, e);
        }
    }

    /** Takes what requests name in segments. */
    public SentStorages requests() {
        return settings.policy() == ArchivePolicy.NONE ? SentStorages.NONE : requests;
    }

    /** Takes what responses name in segments. */
    public SentStorages responses() {
        return settings.policy() == ArchivePolicy.NONE ? SentStorages.NONE : responses;
    }

    public void start(String workerName, Threads threads) {
        if (settings.policy() != ArchivePolicy.NONE) {
            thread = threads.start(workerName + "-archive", this::run);
        }
    }

    /** On the path of a call. */
    void take(WaitingStorage storage) {
        if (storage.size > storage.queue.largestKept()) {
            giveUp(storage, Omission.TOO_LARGE);
        } else if (closed) {
            giveUp(storage, Omission.CLOSED);
        } else if (settings.overflow() == ArchiveOverflow.DROP && backlog.overflows(storage.size)) {
            giveUp(storage, Omission.OVERFLOW);
        }
        backlog.add(storage);
        if (resting && backlog.bytes() > settings.waitingBytes() / WAKE_AT) {
            LockSupport.unpark(thread);
        }
    }

    private void giveUp(WaitingStorage storage, Omission why) {
        if (storage.giveUp(why)) {
            count(why);
        }
    }

    private void count(Omission why) {
        if (counters.countDropped(why) == 0 && why != Omission.TOO_LARGE) {
            LOG.warn(
                    "A tensor is not archived: {}. Further ones are counted, and told by the archive itself",
                    why.text());
        }
    }

    @Override
    public void requireRoom() {
        if (settings.overflow() == ArchiveOverflow.WAIT && backlog.isFull()) {
            LockSupport.unpark(thread);
            throw mustWait();
        }
    }

    private CallException mustWait() {
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
            LockSupport.unpark(thread);
            throw mustWait();
        }
        return giveUpAll(Omission.OVERFLOW);
    }

    private boolean giveUpAll(Omission why) {
        boolean some = false;
        for (WaitingStorage storage : backlog.all()) {
            if (storage.giveUp(why)) {
                backlog.freed(storage.size);
                count(why);
                some = true;
            }
        }
        return some;
    }

    private void run() {
        try {
            host.calls().lowerPriority();
            long busyUntilNs = host.clock().monotonicNs();
            while (true) {
                boolean last = closed; // before the look: what was sent before it was closed is seen
                if (archiveAllSafely()) {
                    busyUntilNs = host.clock().monotonicNs() + BUSY_FOR_NS;
                }
                publish(last ? 0 : PUBLISH_NS);
                if (last) {
                    break;
                }
                rest(busyUntilNs - host.clock().monotonicNs() > 0 ? BUSY_PAUSE_NS : IDLE_PAUSE_NS);
            }
        } finally {
            closeFiles();
        }
    }

    /** One storage that fails must not keep the regions of all others. */
    private boolean archiveAllSafely() {
        try {
            return archiveAll();
        } catch (RuntimeException | Error e) {
            LOG.error("The archive in {} met an error and goes on", workerDirectory, e);
            return false;
        }
    }

    private void rest(long ns) {
        resting = true;
        if (!closed) {
            LockSupport.parkNanos(this, ns);
        }
        resting = false;
    }

    /** Whether there was something. */
    private boolean archiveAll() {
        WaitingStorage next = backlog.next();
        boolean some = next != null;
        while (next != null) {
            try {
                archive(next);
            } finally {
                backlog.done();
            }
            publish(PUBLISH_NS);
            next = backlog.next();
        }
        pace.rest();
        segment.close(); // so that a segment that is removed gives its disk space back
        writeNotes();
        return some;
    }

    private void archive(WaitingStorage storage) {
        changed = true;
        boolean begun = storage.begin();
        try {
            Omission why = begun ? refusal(storage) : storage.omission();
            if (why == null && storage.queue.append(storage, segment.of(storage))) {
                backlog.freed(storage.size);
                counters.countArchived(storage.size);
                hasRoom();
                return;
            }
            omit(storage, why == null ? storage.omission() : why);
        } catch (IOException | RuntimeException | Error e) {
            failed(storage, e);
        } finally {
            space.written(storage.queue.takeGrowth());
        }
    }

    /** Why there is no place for it; null when there is. */
    private Omission refusal(WaitingStorage storage) throws IOException {
        long bytes = storage.size + 2 * ArchiveLayout.RECORD_BYTES;
        if (!space.isOnDisk(bytes)) {
            isFull();
            return Omission.DISK_FULL;
        }
        storage.queue.enter(storage);
        return space.isWithinQuota(bytes, inUse()) ? null : Omission.QUOTA;
    }

    private List<Path> inUse() {
        return Stream.concat(requests.inUse().stream(), responses.inUse().stream())
                .toList();
    }

    private void omit(WaitingStorage storage, Omission why) throws IOException {
        if (storage.giveUp(why)) {
            backlog.freed(storage.size);
            count(why);
        }
        if (why == Omission.DISK_FULL) {
            storage.queue.remember(storage, why);
        } else {
            storage.queue.omit(storage, why);
        }
    }

    private void failed(WaitingStorage storage, Throwable e) {
        Omission why = e instanceof UnreadableBytesException
                ? Omission.UNREADABLE
                : e instanceof IOException io ? QueueArchive.omissionOf(io) : Omission.WRITE_FAILED;
        if (storage.giveUp(why)) {
            backlog.freed(storage.size);
            count(why);
        }
        storage.queue.remember(storage, why);
        if (why == Omission.DISK_FULL) {
            isFull();
            space.lookAgain();
        } else {
            logFailure(why, storage, e);
        }
    }

    private void logFailure(Omission why, WaitingStorage storage, Throwable e) {
        String text = "Storage " + storage.storage + " of message " + MessageId.text(storage.id) + " is not archived";
        if (counters.dropped(why.code()) <= 1) {
            LOG.warn(text, e);
        } else {
            LOG.debug(text, e);
        }
    }

    private void isFull() {
        if (!diskFull) {
            diskFull = true;
            LOG.error(
                    "There is no room for the archive beside what the journals in {} need: tensors are not archived until"
                            + " there is",
                    workerDirectory);
        }
    }

    private void hasRoom() {
        if (diskFull) {
            diskFull = false;
            LOG.info("There is room for the archive in {} again", workerDirectory);
        }
    }

    /** Writes down what was not kept and could not be told before. */
    private void writeNotes() {
        for (Gap gap : backlog.takeSpilled()) {
            gap.queue.remember(gap);
        }
        try {
            requests.writeGaps();
            responses.writeGaps();
        } catch (IOException e) {
            space.lookAgain(); // and again later
        }
    }

    private void publish(long everyNs) {
        long nowNs = host.clock().monotonicNs();
        if (!changed || nowNs - publishedNs < everyNs) {
            return;
        }
        publishedNs = nowNs;
        changed = backlog.count() > 0;
        Path path = workerDirectory.resolve(ArchiveLayout.DIRECTORY).resolve(ArchiveStatus.FILE);
        try (var file = host.files().openOwnNative(path)) {
            status().write(file);
        } catch (IOException e) {
            LOG.debug("{} can't be written", path, e);
        }
    }

    /** How far it is behind, and what it has not kept. */
    public ArchiveStatus status() {
        Map<Omission, Long> dropped = new EnumMap<>(Omission.class);
        for (Omission why : Omission.values()) {
            if (why.code() < ArchiveStatus.REASONS && counters.dropped(why.code()) > 0) {
                dropped.put(why, counters.dropped(why.code()));
            }
        }
        long nowNs = host.clock().monotonicNs();
        return new ArchiveStatus(
                settings.policy(),
                host.clock().wallNs(),
                backlog.count(),
                backlog.bytes(),
                TimeUnit.NANOSECONDS.toMillis(nowNs - backlog.oldestSinceNs(nowNs)),
                counters.storages(),
                counters.bytes(),
                space.usedBytes(),
                dropped);
    }

    private void closeFiles() {
        try {
            new CloseSteps()
                    .attempt(requests::close)
                    .attempt(responses::close)
                    .attempt(segment::close)
                    .finish();
        } catch (IOException | RuntimeException | Error e) {
            LOG.warn("The archive in {} could not be closed in order", workerDirectory, e);
        }
    }

    /** Archives what waits, for at most 10 s, and ends the thread. */
    @Override
    public void close() {
        closed = true;
        if (thread == null) {
            return;
        }
        LockSupport.unpark(thread);
        boolean interrupted = join(CLOSE_WAIT_NS);
        giveUpAll(Omission.CLOSED);
        interrupted |= join(Long.MAX_VALUE);
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Returns whether it was interrupted. */
    private boolean join(long ns) {
        long startNs = host.clock().monotonicNs();
        boolean interrupted = false;
        long left = ns;
        while (thread.isAlive() && left > 0) {
            try {
                TimeUnit.NANOSECONDS.timedJoin(thread, left);
            } catch (InterruptedException e) {
                interrupted = true;
            }
            left = ns - (host.clock().monotonicNs() - startNs);
        }
        return interrupted;
    }
}
