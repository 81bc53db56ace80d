package io.waybill.worker.recover;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.Response;
import io.waybill.home.Peer;
import io.waybill.home.PeerState;
import io.waybill.home.WorkerDirectory;
import io.waybill.host.Host;
import io.waybill.host.Threads;
import io.waybill.host.agent.AgentThread;
import io.waybill.host.agent.ParkingIdleStrategy;
import io.waybill.host.agent.WakeableIdleStrategy;
import io.waybill.host.failure.CloseSteps;
import io.waybill.host.failure.HostFailures;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.index.JournalIndex;
import io.waybill.wire.MalformedRecordException;
import io.waybill.wire.RecordView;
import io.waybill.worker.call.RequestWriter;
import io.waybill.worker.peer.CallErrors;
import io.waybill.worker.peer.Links;
import io.waybill.worker.peer.TensorTransit;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.AgentTerminationException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds the outcomes of calls that earlier incarnations of this worker made. Journals are read off the path of a call:
 * claims have a separate thread, which runs while there are claims.
 *
 * <p><b>Threads.</b> Any.
 */
public final class EarlierCalls {

    private static final Logger LOG = LoggerFactory.getLogger(EarlierCalls.class);
    private static final long LOOK_NS = 2_000_000;
    /** Time within which a live peer's files are complete again, whatever it does to them. */
    private static final long OPEN_LIMIT_NS = 2_000_000_000;

    private final WorkerDirectory directory;
    private final Host host;
    private final JournalSettings journal;
    private final long returnLimitNs;
    private final Links links;
    private final TensorTransit transit;
    private final RequestWriter requests;
    private final StoredResponse responses;
    private final BlockingQueue<OutcomeClaim> added = new LinkedBlockingQueue<>();
    private boolean running; // guarded by this
    private volatile boolean closed;

    public EarlierCalls(
            WorkerDirectory directory,
            JournalSettings journal,
            RecoverySettings recovery,
            Links links,
            RequestWriter requests) {
        this.directory = directory;
        this.host = directory.home().host();
        this.journal = journal;
        this.returnLimitNs = recovery.returnLimit().toNanos();
        this.links = links;
        this.transit = links.transit();
        this.requests = requests;
        this.responses = new StoredResponse(transit.receiver());
    }

    /** Adds a claim to the outcome of a call that an earlier incarnation made. All failures complete the future. */
    public CompletableFuture<Response> claim(long id, OutcomeClaim.Way way, Duration timeout) {
        try {
            return begun(id, way, timeout);
        } catch (CallException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private CompletableFuture<Response> begun(long id, OutcomeClaim.Way way, Duration timeout) {
        if (MessageId.worker(id) != directory.id()) {
            throw CallErrors.refused(
                    ErrorCode.UNKNOWN_CALL,
                    "call " + MessageId.text(id) + " was made by worker " + MessageId.worker(id)
                            + ", and this is worker " + directory.id());
        }
        long timeoutNs = timeout.toNanos();
        long deadlineNs = timeoutNs == 0 ? 0 : Math.max(1, host.clock().bootNs() + timeoutNs);
        OutcomeClaim claim = new OutcomeClaim(id, way, timeoutNs, deadlineNs);
        begin(claim);
        return claim.outcome();
    }

    /** Waits for the outcome of a claim. */
    public static Response await(CompletableFuture<Response> outcome, long id, Threads threads) {
        try {
            threads.await(outcome, Long.MAX_VALUE);
            return outcome.get();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            outcome.cancel(false);
            throw new CallException(
                    ErrorKind.UNKNOWN_ERROR, ErrorCode.CLOSED, id, "interrupted while waiting for a response", e);
        } catch (ExecutionException e) {
            throw (CallException) e.getCause(); // claims fail with no other type
        }
    }

    private synchronized void begin(OutcomeClaim claim) {
        if (closed) {
            throw CallErrors.refused(ErrorCode.CLOSED, "this worker is closed");
        }
        if (!running) {
            WakeableIdleStrategy idle = new ParkingIdleStrategy(host.clock(), host.threads());
            try {
                new AgentThread(directory.name() + "-claims", new Search(idle), idle)
                        .start(host.threads()); // which waits for this lock
            } catch (Threads.RefusedException e) { // without the thread the claim would not even time out
                throw CallErrors.refused(ErrorCode.BACK_PRESSURE, e.getMessage());
            }
            running = true;
        }
        added.add(claim);
    }

    /**
     * Serves claims until none is left. A failure of this agent fails all present claims; later claims start another
     * agent.
     */
    private final class Search implements Agent {

        private final WakeableIdleStrategy idle;
        private final Map<Integer, ResponseWatch> watches = new HashMap<>();
        private final List<OutcomeClaim> tooEarly = new ArrayList<>();
        private final Map<Integer, Exception> unopened = new HashMap<>(); // by peer, in this turn
        private JournalIndex own; // null until it is opened
        private Throwable failure; // null for none

        Search(WakeableIdleStrategy idle) {
            this.idle = idle;
        }

        @Override
        public String roleName() {
            return "claims";
        }

        @Override
        public int doWork() {
            try {
                if (own == null) {
                    own = JournalIndex.open(directory.path(), journal, host);
                }
                added.addAll(tooEarly);
                tooEarly.clear();
                if (!isDone()) {
                    turn();
                    idle.rest(LOOK_NS);
                    return 0;
                }
            } catch (Throwable e) { // in any case: every claim gets its outcome, and later ones get a thread
                LOG.error("The thread that searches for the outcomes of earlier calls failed", e);
                failure = e;
            }
            throw new AgentTerminationException(true);
        }

        private void turn() {
            unopened.clear();
            for (OutcomeClaim claim = added.poll(); claim != null; claim = added.poll()) {
                addSafely(claim);
            }
            watches.forEach(this::look);
        }

        @Override
        public void onClose() {
            CloseSteps steps = new CloseSteps();
            if (own != null) {
                steps.attempt(own::close);
            }
            steps.attempt(this::end).finishUnchecked();
        }

        /** Fails the claims that are left, because the worker closes or the thread failed. */
        private void end() {
            Consumer<OutcomeClaim> failing = failure == null
                    ? claim -> claim.fail(
                            ErrorCode.CLOSED, "worker " + directory.name() + " was closed before the response came")
                    : claim -> claim.fail(
                            CallErrors.codeOf(failure, ErrorCode.PEER_CORRUPT),
                            "the journals can't be searched: " + failure);
            List<OutcomeClaim> left = new ArrayList<>(tooEarly);
            tooEarly.clear();
            synchronized (EarlierCalls.this) { // before any claim fails: a later one starts a thread of its own
                if (failure != null) {
                    running = false;
                }
                if (failure != null || closed) {
                    added.drainTo(left);
                }
            }
            CloseSteps steps = new CloseSteps();
            for (ResponseWatch watch : watches.values()) {
                steps.attempt(() -> watch.failAll(failing)).attempt(watch::close);
            }
            left.forEach(failing);
            steps.finishUnchecked();
        }

        private boolean isDone() {
            synchronized (EarlierCalls.this) {
                boolean done =
                        closed || added.isEmpty() && watches.values().stream().allMatch(ResponseWatch::isEmpty);
                running = !done;
                return done;
            }
        }

        private void addSafely(OutcomeClaim claim) {
            try {
                add(claim);
            } catch (CallException e) {
                claim.fail(e);
            } catch (IOException | RuntimeException | Error e) { // whatever the peer's files contain
                LOG.warn("The journals can't be searched for call {}", MessageId.text(claim.id()), e);
                claim.fail(
                        CallErrors.codeOf(e, ErrorCode.PEER_CORRUPT),
                        "the journals can't be searched: " + HostFailures.describe(e));
            }
        }

        private void add(OutcomeClaim claim) throws IOException {
            if (own.find(JournalQueue.REQUESTS, claim.id()).isEmpty()) {
                throw CallErrors.refused(
                        ErrorCode.UNKNOWN_CALL, "no request " + MessageId.text(claim.id()) + " is on record here");
            }
            RecordView request = own.record(JournalQueue.REQUESTS);
            claim.acrossIncarnations(request.isAcrossIncarnations());
            Optional<ResponseWatch> watch = watch(request.to(), claim);
            ResponseWatch.Added outcome = watch.isPresent() ? watch.get().add(claim) : ResponseWatch.Added.TOO_EARLY;
            switch (outcome) {
                case AWAITED -> {
                    if (claim.way() == OutcomeClaim.Way.REPEAT) {
                        repeat(claim, request);
                    }
                }
                case TOO_EARLY -> {
                    if (!claim.isOver(host.clock().bootNs(), Integer.toString(request.to()))) {
                        tooEarly.add(claim);
                    }
                }
                case COMPLETED -> {}
            }
        }

        /**
         * Returns the responses of a peer; empty when they can't be opened now and the claim can wait: the peer may be
         * starting, and repairing the files of its previous incarnation.
         */
        private Optional<ResponseWatch> watch(int peerId, OutcomeClaim claim) throws IOException {
            ResponseWatch watch = watches.get(peerId);
            if (watch != null) {
                return Optional.of(watch);
            }
            Peer peer = peer(peerId);
            if (!unopened.containsKey(peerId)) { // one attempt for all claims of a turn: it may take some time
                try {
                    watch = new ResponseWatch(peer, directory.id(), journal, host, responses);
                    watches.put(peerId, watch);
                    return Optional.of(watch);
                } catch (IOException | RuntimeException e) {
                    unopened.put(peerId, e);
                }
            }
            boolean waits = !claim.isUnsearchableFor(OPEN_LIMIT_NS, host.clock().monotonicNs());
            if (waits || peer.state() == PeerState.STARTING) {
                return Optional.empty();
            }
            Exception failure = unopened.get(peerId);
            throw new IOException(failure.getMessage(), failure);
        }

        private void repeat(OutcomeClaim claim, RecordView request) {
            try {
                if (request.hasReferences() || transit.receiver().leases(request)) {
                    throw CallErrors.refused(
                            ErrorCode.REFUSED,
                            "call " + MessageId.text(claim.id())
                                    + " can't be sent again: its references or tensors ended with the process that had made it");
                }
                requests.repeat(request, claim.deadlineNs());
            } catch (MalformedRecordException e) {
                throw CallErrors.refused(ErrorCode.MALFORMED_BODY, e.getMessage());
            }
        }

        private Peer peer(int id) {
            Optional<Peer> peer;
            try {
                peer = links.peer(id);
            } catch (IOException e) {
                throw CallErrors.homeUnreadable(e);
            }
            return peer.orElseThrow(() -> CallErrors.refused(
                    ErrorCode.WORKER_LOST, "worker " + id + ", to which the call went, is not in this home any more"));
        }

        private void look(int peerId, ResponseWatch watch) {
            try {
                if (!watch.isEmpty()) {
                    watch.look(peer(peerId), host.clock().bootNs(), returnLimitNs);
                }
            } catch (RuntimeException | Error e) { // the peer was removed from the home, or its files were damaged
                LOG.warn("The responses of worker {} can't be read any more", peerId, e);
                watch.failAll(claim -> claim.fail(
                        CallErrors.codeOf(e, ErrorCode.PEER_CORRUPT),
                        "the responses can't be read: " + HostFailures.describe(e)));
            }
        }
    }

    /** Fails the claims that still wait. */
    public synchronized void close() {
        closed = true;
    }
}
