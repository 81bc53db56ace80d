package io.waybill.worker;

import io.waybill.api.Caller;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.Rpc;
import io.waybill.api.TensorBuffers;
import io.waybill.api.WorkerInfo;
import io.waybill.archive.Archive;
import io.waybill.archive.ArchiveStatus;
import io.waybill.device.DeviceRegistry;
import io.waybill.dispatch.DeliveryPolicy;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerStatus;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.home.Membership;
import io.waybill.home.Served;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.WorkerRecord;
import io.waybill.home.WorkerState;
import io.waybill.home.cursor.Cursors;
import io.waybill.home.error.HomeException;
import io.waybill.host.ChangeWatch;
import io.waybill.host.Host;
import io.waybill.host.failure.CloseSteps;
import io.waybill.journal.DiskSpace;
import io.waybill.journal.Durability;
import io.waybill.journal.JournalFullException;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.Quota;
import io.waybill.journal.Roll;
import io.waybill.journal.append.Journal;
import io.waybill.journal.append.JournalOpener;
import io.waybill.journal.check.StructureCheck;
import io.waybill.journal.index.IndexBuilder;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.recover.QueueBeginning;
import io.waybill.worker.call.AwaitedReturns;
import io.waybill.worker.call.CallSettings;
import io.waybill.worker.call.Calls;
import io.waybill.worker.call.DeviceResponses;
import io.waybill.worker.call.FaultInjectingSender;
import io.waybill.worker.call.OutcomeDelivery;
import io.waybill.worker.call.PendingCalls;
import io.waybill.worker.call.RecordPool;
import io.waybill.worker.call.RequestSender;
import io.waybill.worker.call.RequestWriter;
import io.waybill.worker.call.ResponseReceiver;
import io.waybill.worker.call.WorkerRpc;
import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.peer.LinkLookup;
import io.waybill.worker.peer.Links;
import io.waybill.worker.peer.Quarantine;
import io.waybill.worker.peer.QueueAppender;
import io.waybill.worker.peer.RecordReader;
import io.waybill.worker.peer.RereadTails;
import io.waybill.worker.peer.SelfTails;
import io.waybill.worker.peer.TensorTransit;
import io.waybill.worker.poll.CallOrigin;
import io.waybill.worker.poll.Deadlines;
import io.waybill.worker.poll.FaultAlarm;
import io.waybill.worker.poll.HandlerSlots;
import io.waybill.worker.poll.PollPermit;
import io.waybill.worker.poll.PollTurns;
import io.waybill.worker.poll.Poller;
import io.waybill.worker.poll.WaitingCallers;
import io.waybill.worker.recover.EarlierCalls;
import io.waybill.worker.recover.OutcomeClaim;
import io.waybill.worker.recover.QueueWitnesses;
import io.waybill.worker.recover.Recovery;
import io.waybill.worker.recover.UnansweredScan;
import io.waybill.worker.recover.UnclaimedScan;
import io.waybill.worker.reference.WorkerReferences;
import io.waybill.worker.serve.Exchange;
import io.waybill.worker.serve.ExchangePool;
import io.waybill.worker.serve.HandlerErrorLog;
import io.waybill.worker.serve.OpenRequests;
import io.waybill.worker.serve.ParkedRequests;
import io.waybill.worker.serve.PeerReceiver;
import io.waybill.worker.serve.PreviousIncarnation;
import io.waybill.worker.serve.RepeatedRequests;
import io.waybill.worker.serve.RequestDispatcher;
import io.waybill.worker.serve.RequestReceiver;
import io.waybill.worker.serve.ResponseWriter;
import io.waybill.worker.serve.ServingContext;
import io.waybill.worker.upkeep.FileSpace;
import io.waybill.worker.upkeep.GroupShutdown;
import io.waybill.worker.upkeep.Housekeeper;
import io.waybill.worker.upkeep.Indexer;
import io.waybill.worker.upkeep.LowWatermarks;
import io.waybill.worker.upkeep.OwnQueues;
import io.waybill.worker.upkeep.QueueReaders;
import io.waybill.worker.upkeep.RequestDrain;
import io.waybill.worker.upkeep.Retention;
import io.waybill.worker.upkeep.Syncer;
import io.waybill.worker.upkeep.Watchdog;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A process that joined a home under a name: it calls other workers, and serves their calls with the handlers of its registry. Works
 * with and without OSGi.
 *
 * <p><b>Threads.</b> Thread-safe. <b>Ownership.</b> Whoever joined closes.
 */
public final class Worker implements Caller, AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Worker.class);
    /** Of all functions and operations in a worker's record, half of what fits there. */
    private static final int MAX_NAME_BYTES = 32 << 10;
    /** Of all that it runs again, a quarter. */
    private static final int MAX_AGAIN_BYTES = 16 << 10;
    /** How long a poll may take to end, at least: it may be in a listener of the program. */
    private static final long MIN_POLL_LIMIT_NS = 1_000_000_000L;

    private static final long POLL_LOOK_NS = 20_000;
    /** What stands around each. */
    private static final int BYTES_BETWEEN = 4;

    private final WorkerDirectory directory;
    private final Host host;
    private final HandlerRegistry registry;
    private final WorkerCounters counters = new WorkerCounters();
    private final QueueAppender requestLane;
    private final QueueAppender responseLane;
    private final PollPermit permit = new PollPermit();
    private final Archive archive;
    private final TensorTransit transit;
    private final Links links;
    private final Poller poller;
    private final PeerReceiver receiver;
    private final ResponseReceiver responseReceiver;
    private final DeviceResponses deviceResponses;
    private final RereadTails reread;
    private final RequestSender outlet;
    private final String injects; // empty when no fault is injected
    private final RequestWriter requestWriter;
    private final Calls calls;
    private final PendingCalls pending;
    private final WorkerReferences references;
    private final WorkerRpc rpc;
    private final GroupShutdown departure;
    private final UnclaimedScan unclaimed;
    private final EarlierCalls earlierCalls;
    private final Recovery recovery;
    private final LowWatermarks finished;
    private final OwnQueues ownQueues;
    private final String lost; // of its files, before it joined; empty when nothing was
    private final Housekeeper housekeeper;
    private final Indexer indexer;
    private final Syncer syncer; // null when nothing is synced
    private final String durability;
    private final CompletableFuture<IOException> failure = new CompletableFuture<>();
    private final Retention retention;
    private final WaitingCallers waits;
    private final RequestDrain draining;
    private final ResponseWriter responseWriter;
    private final Duration drainLimit;
    private final Object closing = new Object();
    private Thread closer; // guarded by closing; null until a close begins
    private boolean closed; // guarded by closing: nothing is left to do

    private Worker(
            Opened opened,
            WorkerDirectory directory,
            WorkerSettings settings,
            HandlerRegistry registry,
            Quota quota,
            Journal requests,
            Journal responses,
            QueueBeginning asking,
            QueueBeginning responding)
            throws IOException {
        this.directory = directory;
        this.host = directory.home().host();
        this.registry = registry;
        int id = directory.id();
        boolean serves = settings.role() == WorkerSettings.Role.SERVES;
        long behindLast = requests.lastId() == MessageId.NONE ? 0 : MessageId.counter(requests.lastId()) + 1;
        long firstCounter = Math.max(asking.firstCounter(), behindLast);
        lost = (asking.loss() + " " + responding.loss()).trim();
        archive = opened.add(Archive.open(
                settings.archive(),
                directory.path(),
                id,
                directory.epoch(),
                host,
                requests.size(),
                responses.size(),
                2 * settings.journal().reserveBytes()));
        transit = opened.add(new TensorTransit(directory, settings.tensors(), archive));
        Deadlines deadlines = new Deadlines();
        HandlerSlots invocations = new HandlerSlots();
        FaultAlarm faults = new FaultAlarm();
        requestLane = new QueueAppender(requests, archive.requests());
        responseLane = new QueueAppender(responses, archive.responses());
        pending = new PendingCalls(id, settings.limits().calls(), firstCounter);
        links = new Links(directory, new Membership(directory.home()), serves, settings.journal(), permit, transit);
        opened.add(links::close);
        PollTurns turns = new PollTurns(directory.name(), permit, directory.cursors(), faults);
        poller = new Poller(
                directory.name(),
                settings.waiting(),
                host.clock(),
                host.threads(),
                turns,
                invocations,
                deadlines,
                directory.cursors(),
                directory.doorbell());
        waits = new WaitingCallers(settings.waiting(), host.clock(), turns, invocations, poller);
        injects = settings.injection().text();
        outlet = settings.injection().isNone()
                ? RequestSender.into(requests)
                : new FaultInjectingSender(
                        directory.name(), settings.injection(), host, requestLane, pending, poller, faults);
        CallSettings callSettings = new CallSettings(
                settings.defaultTimeout(),
                settings.limits(),
                settings.journal().maxRecordBytes(),
                !settings.recovery().returnLimit().isZero());
        requestWriter = new RequestWriter(
                id,
                callSettings,
                host.clock(),
                requestLane,
                pending,
                new LinkLookup(links, host),
                transit,
                poller,
                waits,
                counters,
                outlet);
        calls = new Calls(requestWriter, settings.defaultTimeout(), host.clock(), poller, waits);
        responseWriter = new ResponseWriter(
                id, responseLane, host.clock(), transit, settings.journal().maxRecordBytes(), invocations, counters);
        references = new WorkerReferences(directory, serves, settings.references(), calls, links, transit);
        rpc = new WorkerRpc(calls, references, CallOrigin.PROGRAM);
        departure = new GroupShutdown(directory, host, waits, pending, registry, counters);
        links.onIncarnation(references);
        unclaimed = new UnclaimedScan(directory, settings.journal(), requests.size(), firstCounter, asking);
        earlierCalls =
                new EarlierCalls(directory, settings.journal(), settings.recovery(), links, transit, requestWriter);
        ServingContext context = new ServingContext(
                host.clock(), responseWriter, calls, transit, invocations, references, faults, new HandlerErrorLog());
        OpenRequests open = new OpenRequests();
        ExchangePool pool = new ExchangePool(own -> new Exchange(context, own), open);
        ParkedRequests parking = new ParkedRequests();
        PreviousIncarnation earlier = PreviousIncarnation.of(directory);
        UnansweredScan scan =
                new UnansweredScan(id, earlier.epoch(), settings.journal(), responses.directory(), responses.size());
        recovery = new Recovery(directory.name(), earlier, scan, host.threads(), faults);
        links.onMake(recovery::made);
        finished = new LowWatermarks(links, open, parking, responseLane);
        reread = new RereadTails(id, link -> JournalTail.open(link.reader().requestsDirectory(), settings.journal()));
        RequestDispatcher serving = new RequestDispatcher(
                registry,
                references.handlers(),
                host.clock(),
                permit,
                pool,
                parking,
                reread,
                transit,
                responseWriter,
                earlier,
                new RepeatedRequests(
                        host, directory.name(), directory.path(), settings.journal(), responseWriter, poller::wake),
                open,
                counters);
        drainLimit = settings.drainLimit();
        registry.onRoom(() -> {
            serving.roomCame();
            poller.wake();
        });
        links.onDrop(reread::close);
        SelfTails selfTails = new SelfTails(requestLane, responseLane);
        OutcomeDelivery delivery = new OutcomeDelivery(permit, counters);
        RecordPool records = new RecordPool();
        deviceResponses = new DeviceResponses(directory.name(), host, pending, delivery, records, counters);
        Quarantine quarantine = new Quarantine(links, host.clock(), faults);
        RecordReader reader = new RecordReader(id, quarantine, counters);
        responseReceiver = new ResponseReceiver(
                host.clock(),
                pending,
                deadlines,
                transit,
                references,
                quarantine,
                reader,
                new AwaitedReturns(links, settings.recovery().returnLimit()),
                delivery,
                deviceResponses,
                records,
                counters);
        receiver = new PeerReceiver(
                host.clock(),
                links,
                deadlines,
                responseReceiver,
                new RequestReceiver(serving, pool, reader),
                serving,
                selfTails,
                quarantine,
                permit);
        indexer =
                opened.add(new Indexer(IndexBuilder.open(directory.path(), settings.journal(), host), counters, host));
        QueueReaders readers = new QueueReaders(
                directory,
                settings.journal(),
                settings.retention().absentPeers().toNanos(),
                links::members);
        retention = new Retention(
                directory,
                settings.retention(),
                settings.journal(),
                quota,
                readers,
                pending,
                requestLane,
                responseLane);
        Watchdog watchdog = new Watchdog(invocations, open, settings.stuck(), registry, host.clock(), counters);
        draining = new RequestDrain(host, serving, open, waits, watchdog);
        ChangeWatch changes =
                opened.add(ChangeWatch.open(host.calls(), directory.home().workersPath()));
        links.changesEnd(changes);
        ownQueues = new OwnQueues(directory, pending, requestLane, responseLane);
        housekeeper = new Housekeeper(
                host,
                changes,
                links,
                poller,
                watchdog,
                references,
                faults,
                finished,
                counters,
                ownQueues,
                requests,
                responses);
        durability = settings.journal().promise();
        syncer = openSyncer(directory, settings.journal(), links, requestLane, responseLane); // the last that can fail
    }

    /**
     * Joins a home. The worker calls and serves from now on; others see it as starting until {@link #ready}.
     *
     * @throws io.waybill.home.error.NameTakenException when a live worker has the name
     * @throws IOException when the home or the worker's directory can't be used
     */
    public static Worker join(
            Home home, String name, JoinOptions options, WorkerSettings wanted, HandlerRegistry registry)
            throws IOException {
        // all workers of a home roll alike, or they could not read each other
        WorkerSettings settings =
                wanted.withJournal(wanted.retention().fit(wanted.journal()).withRoll(Roll.named(home.rollCycle())));
        Opened opened = new Opened();
        Worker worker = null;
        try {
            WorkerDirectory directory = opened.add(home.join(name, options));
            Cursors cursors = directory.cursors();
            if (settings.journal().durability() == Durability.EACH) {
                cursors.holdReaders();
            } else {
                cursors.freeReaders();
            }
            Quota quota = new Quota(
                    new FileSpace(home.host().files()), settings.retention().maxBytes());
            QueueWitnesses witnesses =
                    QueueWitnesses.hear(directory, settings.journal().roll());
            QueueBeginning asking =
                    beginning(directory, JournalQueue.REQUESTS, settings, cursors.requestsOnDiskBefore(), witnesses);
            QueueBeginning responding =
                    beginning(directory, JournalQueue.RESPONSES, settings, cursors.responsesOnDiskBefore(), witnesses);
            Journal requests = opened.add(openJournal(directory, JournalQueue.REQUESTS, settings, quota, asking));
            Journal responses = opened.add(openJournal(directory, JournalQueue.RESPONSES, settings, quota, responding));
            worker = new Worker(opened, directory, settings, registry, quota, requests, responses, asking, responding);
            worker.start();
            return worker;
        } catch (Throwable e) { // also when the host gives no more threads: the name comes free
            if (worker == null) {
                opened.closeAfter(e);
            } else {
                worker.closeAfter(e);
            }
            if (e instanceof InternalError) { // a fault in a mapped file, which JDK 17 may tell late
                throw new HomeException(
                        "a fault in a mapped file of worker " + name + ", whose disk is full or failed: "
                                + e.getMessage(),
                        e);
            }
            throw e;
        }
    }

    private static Syncer openSyncer(
            WorkerDirectory directory,
            JournalSettings settings,
            Links links,
            QueueAppender requests,
            QueueAppender responses)
            throws IOException {
        if (settings.durability() == Durability.PROCESS) {
            directory.cursors().requestsOnDisk(Cursors.UNKNOWN);
            directory.cursors().responsesOnDisk(Cursors.UNKNOWN);
            return null;
        }
        Syncer syncer = Syncer.open(directory.home().host(), settings, directory.cursors(), links, requests, responses);
        if (settings.durability() == Durability.EACH) {
            links.announceBy(syncer);
        }
        return syncer;
    }

    private static QueueBeginning beginning(
            WorkerDirectory directory,
            JournalQueue queue,
            WorkerSettings settings,
            long onDiskBefore,
            QueueWitnesses witnesses)
            throws IOException {
        Host host = directory.home().host();
        Path path = directory.subdirectory(queue.directoryName());
        host.files().requireQueueDirectory(path);
        return QueueBeginning.find(
                path,
                settings.journal(),
                host,
                new FileSpace(host.files()),
                directory.epoch(),
                onDiskBefore,
                witnesses.of(queue));
    }

    private static Journal openJournal(
            WorkerDirectory directory,
            JournalQueue queue,
            WorkerSettings settings,
            DiskSpace disk,
            QueueBeginning beginning)
            throws IOException {
        Host host = directory.home().host();
        Path path = queue.in(directory.path());
        try {
            return JournalOpener.open(path, settings.journal(), host.clock(), disk, beginning);
        } catch (JournalFullException e) {
            throw new HomeException("no room for the journal of worker " + directory.name() + ": " + e.getMessage(), e);
        } catch (RuntimeException | InternalError e) { // of files that are damaged
            String damage = StructureCheck.firstDamage(path, settings.journal(), host.files());
            throw new HomeException(
                    "the " + queue.directoryName() + " of worker " + directory.name() + " can't be opened: "
                            + (damage.isEmpty() ? path + ": " + e.getMessage() : damage)
                            + "; waybill journal verify says what is damaged, waybill journal salvage copies the rest",
                    e);
        }
    }

    private void start() throws IOException {
        if (!rpc.serves()) {
            directory.show(WorkerRecord.ROLE, WorkerRecord.CALLS_ONLY); // nobody need wait for it to read requests
        }
        references.restore(); // before anybody can ask for what an earlier incarnation kept
        if (!injects.isEmpty()) {
            LOG.warn("Worker {} injects faults: {}", directory.info(), injects);
        }
        links.onChange(poller::wake);
        recovery.onDone(poller::wake);
        registry.onChange(poller::wake);
        links.refresh();
        directory.takesCalls(); // before it can make a call: who hears of this incarnation can call it
        poller.start(receiver);
        housekeeper.start(directory.name(), this::failed);
        indexer.start(directory.name(), host.threads());
        archive.start(directory.name(), host.threads());
        retention.start(directory.name(), host.threads());
        if (syncer != null) {
            syncer.start(directory.name(), host.threads(), this::failed);
        }
    }

    /**
     * What was appended can't be brought to the disk, another process has written to the files, or one of them is gone: the worker stops, and
     * all that wait for it hear of it.
     */
    private void failed(IOException cause) {
        for (QueueAppender lane : List.of(requestLane, responseLane)) {
            try {
                QueueBeginning.failed(lane.journal().directory(), host.files());
            } catch (IOException e) {
                LOG.warn(
                        "It could not be noted that {} needs to be written anew",
                        lane.journal().directory(),
                        e);
            }
        }
        requestWriter.fail("the journal of worker " + directory.name() + " failed: " + cause.getMessage());
        try {
            close(Duration.ZERO); // no response can be written any more
        } catch (Throwable e) { // whoever waits for the failure is told in any case
            LOG.warn("Worker {} could not leave in order after its journal failed", directory.info(), e);
        } finally {
            failure.complete(cause);
        }
    }

    /** Completes when this worker has stopped by itself, because its journal failed. */
    public CompletableFuture<IOException> failure() {
        return failure.copy();
    }

    /** Tells the others that this worker serves, and what. */
    public void ready(Map<String, String> shown) throws IOException {
        Map<String, String> settings = new LinkedHashMap<>(shown);
        if (!rpc.serves()) {
            settings.put(WorkerRecord.ROLE, WorkerRecord.CALLS_ONLY);
        }
        settings.put(WorkerRecord.DURABILITY, durability);
        if (!injects.isEmpty()) {
            settings.put(WorkerRecord.INJECTS, injects);
        }
        if (!lost.isEmpty()) {
            settings.put(WorkerRecord.LOST, lost);
        }
        Set<String> served = served();
        directory.publish(WorkerState.READY, new Served(List.copyOf(served), atLeastOnce(served)), settings);
    }

    /** What it serves: operations and then functions only as many as a record has room for. */
    private Set<String> served() {
        List<String> keys = new ArrayList<>(keysIn(HandlerStatus.State.SERVING));
        keys.sort(Comparator.comparing(key -> key.startsWith(HandlerKey.FUNCTION_PREFIX)));
        Set<String> served = new LinkedHashSet<>();
        int left = MAX_NAME_BYTES;
        for (String key : keys) {
            boolean isName = key.startsWith(HandlerKey.FUNCTION_PREFIX) || key.indexOf('.') >= 0;
            left -= isName ? key.getBytes(StandardCharsets.UTF_8).length + BYTES_BETWEEN : 0;
            if (!isName || left >= 0) {
                served.add(key);
            }
        }
        return served;
    }

    /** What of that it runs again after it died: as much as a record has room for, and the rest at most once. */
    private List<String> atLeastOnce(Set<String> served) {
        List<String> again = new ArrayList<>();
        int left = MAX_AGAIN_BYTES;
        for (String key :
                keysIn(HandlerStatus.State.SERVING, status -> status.delivery() == DeliveryPolicy.AT_LEAST_ONCE)) {
            left -= key.getBytes(StandardCharsets.UTF_8).length + BYTES_BETWEEN;
            if (left >= 0 && served.contains(key)) {
                again.add(key);
            }
        }
        return again;
    }

    private List<String> keysIn(HandlerStatus.State state) {
        return keysIn(state, status -> true);
    }

    private List<String> keysIn(HandlerStatus.State state, Predicate<HandlerStatus> which) {
        return registry.statuses().stream()
                .filter(status -> status.state() == state && which.test(status))
                .map(status -> status.key().text())
                .distinct()
                .sorted()
                .toList();
    }

    /** The keys of handlers that are out of service because requests are stuck in them, sorted. */
    public List<String> stuck() {
        return keysIn(HandlerStatus.State.STUCK);
    }

    public WorkerInfo info() {
        return directory.info();
    }

    public WorkerCounters counters() {
        return counters;
    }

    /** What of the tensors that it sent is archived, and how far that is behind. */
    public ArchiveStatus archiveStatus() {
        return archive.status();
    }

    /** Calls of this worker without an outcome. */
    public int pendingCalls() {
        return pending.size();
    }

    /** Leases of peers' regions that are in use here. */
    int leasesHeld() {
        return transit.receiver().leasesHeld();
    }

    /** Leases of this worker's regions that peers have not released. */
    long leased() {
        transit.sender().reclaim();
        return transit.sender().leases();
    }

    /** Memory for tensors that are to be sent. */
    public TensorBuffers buffers() {
        return transit.pool();
    }

    /**
     * Operators and functions of other workers, and remote references.
     *
     * @throws IllegalStateException when this worker only calls: others must be able to reach it
     */
    public Rpc rpc() {
        rpc.requireServing();
        return rpc;
    }

    /** Who moves tensors of other device types in and out of messages. */
    public DeviceRegistry devices() {
        return transit.devices();
    }

    public WorkerDirectory directory() {
        return directory;
    }

    @Override
    public Response call(Request request) {
        return calls.call(request);
    }

    @Override
    public CompletableFuture<Response> callAsync(Request request) {
        return calls.callAsync(request);
    }

    @Override
    public long call(Request request, ResponseListener listener) {
        return calls.call(request, listener);
    }

    /**
     * The outcome of a call that an earlier process of this name made: the response that is on record, or the one that its receiver is still
     * to give. The journals are searched on a thread of its own.
     *
     * <p>The future fails with a {@link CallException}: with the error that is on record; with {@link ErrorCode#UNKNOWN_CALL} when this
     * worker never made the call; {@link ErrorCode#WORKER_LOST} when its receiver is gone without a response and, for a call that a later
     * life of it may run, has not returned in time; {@link ErrorCode#RESPONSE_GONE} when the response brought references or tensors in a
     * segment, which ended with the process that had asked; {@link ErrorCode#TIMED_OUT} when none of that came in time.
     *
     * @param timeout {@link Duration#ZERO} for none
     */
    public CompletableFuture<Response> claimAsync(long messageId, Duration timeout) {
        return earlierCalls.claim(messageId, OutcomeClaim.Way.WAIT, timeout);
    }

    /**
     * Waits for {@link #claimAsync}.
     *
     * @throws IllegalStateException on the worker's poller
     */
    public Response claim(long messageId, Duration timeout) {
        calls.requireMayBlock();
        return EarlierCalls.await(earlierCalls.claim(messageId, OutcomeClaim.Way.WAIT, timeout), messageId);
    }

    /**
     * Sends a request of an earlier process of this name again, under its id, to the process of its receiver that is there now, unless a
     * handler's response is on record. The receiver gives the response that it has on record; waits for the handler that is at it; runs the
     * request when no handler had begun it, or when one may have and it is declared {@code at-least-once}; and refuses it with
     * {@link ErrorCode#WORKER_LOST} otherwise. The future fails as that of {@link #claimAsync} does, and with {@link ErrorCode#REFUSED} for
     * a request that brought references, or tensors in a segment.
     *
     * @param timeout {@link Duration#ZERO} for none
     */
    public CompletableFuture<Response> repeatAsync(long messageId, Duration timeout) {
        return earlierCalls.claim(messageId, OutcomeClaim.Way.REPEAT, timeout);
    }

    /**
     * Waits for {@link #repeatAsync}.
     *
     * @throws IllegalStateException on the worker's poller
     */
    public Response repeat(long messageId, Duration timeout) {
        calls.requireMayBlock();
        return EarlierCalls.await(earlierCalls.claim(messageId, OutcomeClaim.Way.REPEAT, timeout), messageId);
    }

    /**
     * The ids of requests of earlier processes of this name whose outcome the last of them had not heard, lowest first: those without an
     * answer on record, and those whose response it had not read. What {@link #claim} is for. Reads journals on the calling thread.
     *
     * @param max so many of the oldest
     */
    public long[] unanswered(int max) throws IOException {
        long[] ids = unclaimed.find(links.peers());
        return max < ids.length ? Arrays.copyOf(ids, max) : ids;
    }

    /**
     * Waits until no call of this worker is without an outcome, at most this long.
     *
     * @return how many still are
     */
    public int drain(Duration limit) {
        long untilNs = host.clock().monotonicNs() + limit.toNanos();
        int left = pending.size();
        while (left > 0
                && host.clock().monotonicNs() < untilNs
                && !Thread.currentThread().isInterrupted()) {
            host.threads().pause(1_000_000);
            left = pending.size();
        }
        return left;
    }

    /**
     * Ends the work of several workers together, as PyTorch's graceful shutdown does: waits until each of them has come here, has left or
     * has died, and no call is under way among them; then gives back all references, as {@link Rpc#shutdown} does. Until then this worker
     * serves. What is left to do is to {@linkplain #close close} it.
     *
     * @param others names or ids; this worker itself may be among them
     * @return what it waited for in vain; empty when all has ended
     * @throws IllegalStateException on the worker's poller
     */
    public String shutdown(Duration limit, Collection<String> others) {
        long untilNs = host.clock().monotonicNs() + limit.toNanos();
        String working = departure.await(others, limit);
        if (!rpc.serves()) {
            return working;
        }
        String held =
                rpc.shutdown(Duration.ofNanos(Math.max(0, untilNs - host.clock().monotonicNs())));
        return working.isEmpty() || held.isEmpty() ? working + held : working + " " + held;
    }

    /**
     * Leaves. No request is begun any more; those in flight have the drain limit of the settings to end, and their callers get the
     * responses. Then calls without an outcome fail with {@link ErrorCode#CLOSED}, the others are told, and the name is given back. Every
     * step is attempted, whatever one of them throws.
     *
     * <p><b>Threads.</b> Any. Whoever calls again, or at the same time, waits until it is done. In a callback of this worker (a
     * {@link ResponseListener}, a stage of a future, or a handler) nothing can be waited for: it begins there, goes on on a thread of its
     * own, and its errors are logged.
     *
     * @throws IOException when a step failed: the first failure, with the others as suppressed
     */
    @Override
    public void close() throws IOException {
        close(drainLimit);
    }

    private void close(Duration limit) throws IOException {
        boolean isInside = waits.isInside();
        synchronized (closing) {
            if (closer == Thread.currentThread() || closer != null && isInside) {
                return;
            }
            if (closer != null) {
                awaitClosed();
                return;
            }
            if (isInside) {
                closer = host.threads().start(directory.name() + "-closer", () -> endSafely(limit));
                return;
            }
            closer = Thread.currentThread();
        }
        end(limit);
    }

    /** Under the lock. */
    private void awaitClosed() {
        boolean interrupted = false;
        while (!closed) {
            try {
                closing.wait();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void closeAfter(Throwable failure) {
        try {
            close(Duration.ZERO);
        } catch (Throwable e) { // the failure is what counts
            failure.addSuppressed(e);
        }
    }

    private void endSafely(Duration limit) {
        try {
            end(limit);
        } catch (Throwable e) { // nobody waits for it
            LOG.error("Worker {} could not leave in order", directory.info(), e);
        }
    }

    private void end(Duration limit) throws IOException {
        CloseSteps steps = new CloseSteps();
        if (!limit.isZero() && rpc.serves()) {
            steps.attempt(() -> draining.await(limit));
        }
        boolean interrupted = Thread.interrupted(); // or no file could be written, and no wait would rest
        try {
            leave(steps);
        } finally {
            synchronized (closing) {
                closed = true;
                closing.notifyAll();
            }
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
        LOG.debug("Worker {} left", directory.info());
        steps.finish();
    }

    private void leave(CloseSteps steps) {
        steps.attempt(references::close)
                .attempt(requestWriter::close)
                .attempt(earlierCalls::close)
                .attempt(outlet::close)
                .attempt(housekeeper::close)
                .attempt(retention::close)
                .attempt(poller::close);
        boolean nobodyPolls = stopPolling();
        steps.attempt(() -> responseReceiver.failAll(id -> requestWriter.ended(id, directory.name())));
        steps.attempt(deviceResponses::close);
        if (nobodyPolls) {
            steps.attempt(finished::update).attempt(reread::closeAll).attempt(links::close);
        }
        steps.attempt(indexer::close) // may take a second, when the others know already
                .attempt(archive::close)
                .attempt(transit::close)
                .attempt(responseWriter::close);
        if (syncer != null) {
            steps.attempt(syncer::close); // what it answered last can be read then
        }
        steps.attempt(ownQueues::note)
                .attempt(directory::leave)
                .attempt(requestLane::close)
                .attempt(responseLane::close);
    }

    /**
     * Takes the permit for good, so that nobody polls any more: after at most one poll, unless a listener does not come back.
     *
     * @return whether it is had; what a poll uses must stay open otherwise
     */
    private boolean stopPolling() {
        long untilNs = host.clock().monotonicNs() + Math.max(MIN_POLL_LIMIT_NS, drainLimit.toNanos());
        boolean mine = permit.tryAcquire();
        while (!mine && host.clock().monotonicNs() - untilNs < 0) {
            poller.relieveOfListener(); // which the housekeeper does not do any more
            host.threads().pause(POLL_LOOK_NS);
            mine = permit.tryAcquire();
        }
        if (!mine) {
            LOG.error(
                    "Worker {} leaves while its poller does not come back from a listener of the program; the files that it"
                            + " reads stay open",
                    directory.info());
        }
        return mine;
    }
}
