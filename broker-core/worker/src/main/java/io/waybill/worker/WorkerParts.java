package io.waybill.worker;

import io.waybill.api.MessageId;
import io.waybill.archive.Archive;
import io.waybill.broker.Brokers;
import io.waybill.broker.KeptStates;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.PolledTasks;
import io.waybill.exchange.CallOrigin;
import io.waybill.exchange.InnerRequests;
import io.waybill.handling.CallReports;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.WorkerRecord;
import io.waybill.home.note.NotedOutcomes;
import io.waybill.host.ChangeWatch;
import io.waybill.host.Host;
import io.waybill.host.failure.CloseSteps;
import io.waybill.intercept.InterceptorRegistry;
import io.waybill.journal.append.Journal;
import io.waybill.journal.index.IndexBuilder;
import io.waybill.worker.call.CallParts;
import io.waybill.worker.call.CallSettings;
import io.waybill.worker.call.Calls;
import io.waybill.worker.call.ResponseReceiver;
import io.waybill.worker.call.WorkerRpc;
import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.peer.Links;
import io.waybill.worker.peer.Quarantine;
import io.waybill.worker.peer.RecordReader;
import io.waybill.worker.peer.TensorTransit;
import io.waybill.worker.poll.FaultAlarm;
import io.waybill.worker.poll.NeighbourRings;
import io.waybill.worker.poll.PollContext;
import io.waybill.worker.poll.PollPermit;
import io.waybill.worker.poll.Poller;
import io.waybill.worker.poll.WaitingCallers;
import io.waybill.worker.publish.PublishingContext;
import io.waybill.worker.publish.QueueAppender;
import io.waybill.worker.publish.SelfTails;
import io.waybill.worker.recover.EarlierCalls;
import io.waybill.worker.recover.Recovery;
import io.waybill.worker.recover.UnansweredScan;
import io.waybill.worker.recover.UnclaimedScan;
import io.waybill.worker.reference.WorkerReferences;
import io.waybill.worker.serve.OperationListing;
import io.waybill.worker.serve.PeerReceiver;
import io.waybill.worker.serve.RequestDispatcher;
import io.waybill.worker.serve.ServeParts;
import io.waybill.worker.upkeep.CallDrain;
import io.waybill.worker.upkeep.Indexer;
import io.waybill.worker.upkeep.PeerUpkeep;
import io.waybill.worker.upkeep.UpkeepContext;
import io.waybill.worker.upkeep.UpkeepParts;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The parts of one worker, wired. Each part is created before those that use it; parts with resources are registered
 * with {@link Opened}.
 *
 * <p><b>Threads.</b> Created and started by the thread that joins; the javadoc of each part names the threads that may
 * use it.
 */
final class WorkerParts {

    private static final Logger LOG = LoggerFactory.getLogger(WorkerParts.class);

    final WorkerDirectory directory;
    final Host host;
    final HandlerRegistry registry;
    final HandlerChanges handlerChanges;
    final InterceptorRegistry interceptors;
    final WorkerCounters counters = new WorkerCounters();
    final QueueAppender requestAppender;
    final QueueAppender responseAppender;
    final PollPermit permit;
    final Archive archive;
    final TensorTransit transit;
    final Links links;
    final Poller poller;
    final PeerReceiver receiver;
    final ResponseReceiver responseReceiver;
    final String injects; // empty when no fault is injected
    final CallParts calling;
    final Calls calls;
    final WorkerReferences references;
    final WorkerRpc rpc;
    final Brokers brokers;
    final UnclaimedScan unclaimed;
    final EarlierCalls earlierCalls;
    final Recovery recovery;
    final String lost; // why the worker's files needed a repair before it joined; empty when they did not
    final Indexer indexer;
    final ServeParts serving;
    final UpkeepParts upkeep;
    final String durability;
    final Map<String, String> declaredDevices;
    final WaitingCallers waiting;
    final CallDrain callDrain;
    final WorkerSettings settings;

    WorkerParts(
            Opened opened,
            WorkerDirectory directory,
            WorkerSettings settings,
            HandlerRegistry registry,
            OpenedQueues queues)
            throws IOException {
        Journal requests = queues.requests();
        Journal responses = queues.responses();
        this.directory = directory;
        this.host = directory.home().host();
        this.registry = registry;
        this.interceptors = new InterceptorRegistry(host, registry.errors());
        int id = directory.id();
        boolean serves = settings.role() == WorkerSettings.Role.SERVES;
        long behindLast = requests.lastId() == MessageId.NONE ? 0 : MessageId.counter(requests.lastId()) + 1;
        long firstCounter = Math.max(Math.max(queues.asking().firstCounter(), behindLast), directory.firstCounter());
        lost = queues.loss();
        archive = opened.add(Archive.open(
                settings.archive(),
                directory.path(),
                id,
                directory.epoch(),
                host,
                requests.size(),
                responses.size(),
                2 * settings.journal().reserveBytes()));
        transit = opened.add(new TensorTransit(directory, settings.tensors(), settings.devices(), archive));
        CallReports reports = new CallReports(registry.events(), host.clock());
        PollContext polling =
                new PollContext(directory.name(), settings.polling(), host, directory.cursors(), directory.doorbell());
        FaultAlarm faults = polling.faults();
        permit = polling.permit();
        requestAppender = new QueueAppender(requests, false, archive.requests(), faults, counters);
        responseAppender = new QueueAppender(responses, true, archive.responses(), faults, counters);
        links = new Links(directory, serves, settings.journal(), permit, transit);
        opened.add(links::close);
        poller = new Poller(polling);
        waiting = new WaitingCallers(polling, poller);
        injects = settings.injection().text();
        CallSettings callSettings = new CallSettings(
                settings.defaultTimeout(),
                settings.limits(),
                settings.journal().maxRecordBytes(),
                !settings.recovery().returnLimit().isZero());
        PublishingContext publishing = new PublishingContext(
                directory.info(), host.clock(), transit, settings.journal().maxRecordBytes(), reports, counters);
        calling = new CallParts(
                new CallParts.Context(host, publishing, polling, poller, waiting, links, interceptors.calls()),
                new CallParts.Settings(
                        callSettings, settings.recovery().returnLimit(), settings.injection(), firstCounter),
                requestAppender,
                new NotedOutcomes(directory.path(), host));
        calls = calling.calls;
        references = new WorkerReferences(directory, settings.references(), calls, links);
        references.respondTo(OperationListing.NAME, new OperationListing(registry));
        rpc = new WorkerRpc(calls, references, CallOrigin.PROGRAM);
        KeptStates states = KeptStates.of(directory, settings.state());
        WorkerInNameOf.Origin origin =
                new WorkerInNameOf.Origin(directory.home(), settings, registry.policies(), new NeighbourRings());
        brokers = new Brokers(new WorkerBackend(directory, origin, calls, rpc, links), registry.errors(), host, states);
        links.onIncarnation(references);
        unclaimed = new UnclaimedScan(directory, settings.journal(), requests.size(), firstCounter, queues.asking());
        earlierCalls = new EarlierCalls(directory, settings.journal(), settings.recovery(), links, calling.writer);
        serving = new ServeParts(
                new ServeParts.Context(
                        directory, registry, interceptors, polling, poller, publishing, calls, references),
                responseAppender,
                settings.journal(),
                settings.stuck());
        UnansweredScan scan = new UnansweredScan(
                id, serving.earlier.epoch(), settings.journal(), responses.directory(), responses.size());
        recovery = new Recovery(directory.name(), serving.earlier, scan, host, faults);
        links.onMake(recovery::made);
        this.settings = settings;
        handlerChanges = new HandlerChanges(serving.inner, serving.dispatcher, poller);
        links.onDrop(serving.reread::close);
        SelfTails selfTails = new SelfTails(requestAppender, responseAppender);
        Quarantine quarantine = new Quarantine(links, host.clock(), faults);
        RecordReader reader = new RecordReader(id, quarantine, counters);
        responseReceiver = calling.receiver(references, reader);
        receiver = serving.receiver(links, responseReceiver, reader, selfTails);
        indexer = opened.add(new Indexer(
                IndexBuilder.open(directory.path(), settings.journal(), host), requests, responses, counters, host));
        callDrain = new CallDrain(host, calling, waiting);
        ChangeWatch changes =
                opened.add(ChangeWatch.open(host.calls(), directory.home().presentPath()));
        links.changesEnd(changes);
        durability = settings.journal().promise();
        declaredDevices = settings.devices().published();
        UpkeepContext maintained = new UpkeepContext(
                directory,
                settings.journal(),
                registry,
                links,
                calling.pending,
                poller,
                waiting,
                faults,
                requestAppender,
                responseAppender,
                counters);
        upkeep = new UpkeepParts( // the last step that can fail
                maintained,
                new UpkeepParts.Settings(settings.retention(), settings.stuck(), queues.quota()),
                serving,
                new PeerUpkeep(maintained, changes, brokers, transit),
                references);
    }

    /**
     * Starts the threads. From now on this worker can call and be called.
     *
     * @param failed called once, by any thread, when the journal fails
     */
    void start(Consumer<IOException> failed) throws IOException {
        if (!rpc.serves()) {
            directory.show(WorkerRecord.ROLE, WorkerRecord.CALLS_ONLY); // no peer reads requests of this worker yet
        }
        references.restore(); // before a peer can fetch what an earlier incarnation kept
        if (!injects.isEmpty()) {
            LOG.warn("Worker {} injects faults: {}", directory.info(), injects);
        }
        links.onChange(poller::wake);
        recovery.onDone(poller::wake);
        registry.addListener(handlerChanges);
        interceptors.handlers().onChange(handlerChanges::roomCame);
        links.refresh();
        transit.requireMaps(links.members());
        directory.takesCalls(); // before the first call: a peer that is notified of this incarnation can call it
        poller.start(receiver);
        indexer.start(directory.name(), host.threads());
        archive.start(directory.name(), host.threads());
        upkeep.start(directory.name(), host.threads(), failed);
    }

    /**
     * Reaction of a worker to changes of its handlers. A registry may outlive many workers, so each worker removes its
     * own listener.
     *
     * <p><b>Threads.</b> Any.
     */
    record HandlerChanges(InnerRequests inner, RequestDispatcher serving, Poller poller)
            implements HandlerRegistry.Listener {

        @Override
        public void changed() {
            inner.signal();
            poller.wake();
        }

        @Override
        public void roomCame() {
            inner.signal();
            serving.roomCame();
            poller.wake();
        }

        @Override
        public PolledTasks.Polling polling() {
            return poller.handlers();
        }
    }

    /**
     * Resources opened while a worker joins: closed in reverse order when a later step fails.
     *
     * <p><b>Threads.</b> Belongs to the thread that joins.
     */
    static final class Opened {

        private final Deque<AutoCloseable> toClose = new ArrayDeque<>();

        /** Adds a resource, and returns it. */
        <T extends AutoCloseable> T add(T opened) {
            toClose.push(opened);
            return opened;
        }

        /** Closes all resources after a failure, which receives their errors as suppressed. */
        void closeAfter(Throwable failure) {
            CloseSteps steps = new CloseSteps();
            toClose.forEach(each -> steps.attempt(each::close));
            toClose.clear();
            steps.suppressIn(failure);
        }
    }
}
