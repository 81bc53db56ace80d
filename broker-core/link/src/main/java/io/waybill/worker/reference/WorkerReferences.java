package io.waybill.worker.reference;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.WorkerInfo;
import io.waybill.api.context.CallContext;
import io.waybill.api.context.ContextScope;
import io.waybill.api.context.ThreadContext;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.Provider;
import io.waybill.handling.InboundMessage;
import io.waybill.home.WorkerDirectory;
import io.waybill.host.Host;
import io.waybill.host.failure.CloseSteps;
import io.waybill.rref.RRefSettings;
import io.waybill.rref.References;
import io.waybill.rref.UserReference;
import io.waybill.rref.control.ControlMessage;
import io.waybill.rref.control.ControlOutcome;
import io.waybill.rref.control.ControlTransport;
import io.waybill.rref.id.FetchRequest;
import io.waybill.rref.id.ForkData;
import io.waybill.rref.status.Holder;
import io.waybill.rref.status.ReferenceListener;
import io.waybill.rref.status.ReferenceStatus;
import io.waybill.tensor.TensorReceiver;
import io.waybill.wire.RecordView;
import io.waybill.worker.peer.Links;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.peer.TensorTransit;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Connects the references of a worker to its calls: sends control messages as requests, handles the control messages of
 * peers, and notifies the references of peers that join and end.
 *
 * <p><b>Threads.</b> Any.
 */
public final class WorkerReferences implements ControlTransport, ReferenceListener, Links.IncarnationListener {

    private static final Logger LOG = LoggerFactory.getLogger(WorkerReferences.class);
    private static final Provider PROVIDER = new Provider("waybill-references", "1");
    /** Number of bits for the ids of one incarnation: ids of different incarnations do not overlap. */
    private static final int IDS_PER_INCARNATION_BITS = 32;

    private static final int INCARNATIONS_MASK = 0xffff;

    private final WorkerInfo info;
    private final boolean serves;
    private final Host host;
    private final ReferenceCalls calls;
    private final Links links;
    private final TensorTransit transit;
    private final Duration attemptTimeout;
    private final References references;
    private final HandlerRegistry handlers;
    private final HandlerExecutor executor;
    private final SerialExecutor background;
    private final ValueKeeper keeper;
    private final LeakReport leaks = new LeakReport();
    private final AtomicBoolean ticking = new AtomicBoolean();

    public WorkerReferences(WorkerDirectory directory, RRefSettings settings, ReferenceCalls calls, Links links) {
        this.info = directory.info();
        this.serves = links.serves();
        this.host = directory.home().host();
        this.calls = calls;
        this.links = links;
        this.transit = links.transit();
        this.attemptTimeout = settings.retries().attemptTimeout(calls.defaultTimeout());
        long epoch = directory.epoch();
        this.references = new References(
                new Holder(directory.id(), (int) epoch),
                (epoch - 1 & INCARNATIONS_MASK) << IDS_PER_INCARNATION_BITS,
                settings,
                host.clock(),
                this,
                this);
        this.handlers = new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock());
        this.executor = handlers.newExecutor(PROVIDER, ExecutorSettings.forProcessors(1));
        this.background = new SerialExecutor(executor);
        this.keeper = new ValueKeeper(directory, settings.keeping(), calls, references, new SerialExecutor(executor));
        handle(MessageType.RREF_USER_DELETE, this::control);
        handle(MessageType.RREF_FORK_REQUEST, this::control);
        handle(MessageType.RREF_CHILD_ACCEPT, this::control);
        handle(MessageType.SCRIPT_RREF_FETCH_CALL, new FetchHandler(references, host.clock()));
        respondTo(ReferenceListing.NAME, new ReferenceListing(references));
    }

    /** Adds a control operation that this worker serves, with or without bundles. */
    public void respondTo(String operation, MessageHandler handler) {
        HandlerKey key = new HandlerKey.OfControl(operation);
        handlers.add(HandlerSpec.of(key, handler, PROVIDER, executor));
    }

    private void handle(MessageType type, MessageHandler handler) {
        handlers.add(new HandlerSpec(
                List.of(new HandlerKey.OfType(type)),
                handler,
                true,
                PROVIDER,
                0,
                WorkerReferences.class.getClassLoader(),
                executor));
    }

    /** Returns whether this worker serves requests, which references require. */
    public boolean serves() {
        return serves;
    }

    public References references() {
        return references;
    }

    public ValueKeeper keeper() {
        return keeper;
    }

    ReferenceCalls calls() {
        return calls;
    }

    public WorkerInfo info() {
        return info;
    }

    /** Returns a worker's id and name; the id alone when it is unknown. */
    String describe(int worker) {
        return links.find(worker)
                .map(link -> new WorkerInfo(link.id(), link.name()).toString())
                .orElse("worker " + worker);
    }

    /** Returns the handlers of requests that the worker itself responds to. */
    public HandlerRegistry handlers() {
        return handlers;
    }

    public static Holder holder(PeerLink link) {
        return new Holder(link.id(), (int) link.epoch());
    }

    /** Returns the incarnation that sent a request at this time by the wall clock. */
    public static Holder sender(PeerLink link, long sentNs) {
        return new Holder(link.id(), (int) link.epochAt(sentNs));
    }

    // ---- messages of peers

    private void control(Message message, Outbox outbox) throws RejectedMessageException {
        ControlMessage control = ControlMessage.decode(message.type(), message.payload());
        Optional<CallException> refused = receive(control, from(message));
        if (refused.isPresent()) {
            CallException why = refused.get();
            throw new RejectedMessageException(why.code(), why.getMessage(), why);
        }
        outbox.respond(ByteBuffer.allocate(0));
    }

    private Optional<CallException> receive(ControlMessage message, Holder from) {
        try {
            return references.receive(message, from);
        } catch (CallException e) { // this worker is closing
            return Optional.of(e);
        }
    }

    private Holder from(Message message) throws RejectedMessageException {
        return links.find(message.from())
                .map(link -> sender(link, ((InboundMessage) message).sentNs()))
                .orElseThrow(() ->
                        new RejectedMessageException(ErrorCode.WORKER_LOST, "worker " + message.from() + " is gone"));
    }

    @Override
    public void ended(int worker, long epoch) {
        background.run(() -> references.lost(new Holder(worker, (int) epoch)));
    }

    @Override
    public void began(int worker, long epoch) {
        background.run(() -> references.returned(new Holder(worker, (int) epoch)));
    }

    /**
     * Takes the references of a response, which may be used immediately: the worker that shared them keeps them alive
     * until their owners know of this one.
     *
     * @throws RejectedMessageException when they can't be taken; the references that could be read were released
     */
    public ReceivedReferences takeResponded(RecordView response, PeerLink from) throws RejectedMessageException {
        if (!response.hasReferences()) {
            return ReceivedReferences.none();
        }
        List<ForkData> table = ReceivedReferences.table(response);
        if (!serves) {
            ReceivedReferences.decline(this, table, holder(from));
            throw new RejectedMessageException(
                    ErrorCode.REFUSED,
                    "it carries remote references, and worker " + info.name()
                            + " only calls: they need one that serves");
        }
        return ReceivedReferences.take(this, table, holder(from));
    }

    /** Releases the references of a response that no caller waits for. */
    public void declineResponded(RecordView response, PeerLink from) {
        if (!response.hasReferences()) {
            return;
        }
        try {
            ReceivedReferences.decline(this, ReceivedReferences.table(response), holder(from));
        } catch (RejectedMessageException e) {
            unreadable(from, e);
        }
    }

    // ---- messages of this worker

    @Override
    public void send(ControlMessage message, int to, ControlOutcome outcome) {
        Request request = Request.raw(WorkerInfo.address(to), message.type(), message.payload(), List.of())
                .timeout(attemptTimeout);
        ThreadContext thread = ThreadContext.own();
        ContextScope before = thread.enter(CallContext.EMPTY); // it is no call of the code that runs here
        try {
            calls.call(request, new ResponseListener() {
                @Override
                public void onResponse(Response response) {
                    outcome.acknowledged();
                }

                @Override
                public void onFailure(CallException failure) {
                    outcome.failed(failure.code(), failure.getMessage());
                }
            });
        } catch (CallException e) {
            outcome.failed(e.code(), e.getMessage());
        } finally {
            thread.leave(before);
        }
    }

    Response fetch(UserReference user, Duration timeout) {
        references.retain(user);
        try {
            return calls.callFromHere(fetchRequest(user, timeout));
        } finally {
            references.release(user);
        }
    }

    CompletableFuture<Response> fetchAsync(UserReference user, Duration timeout) {
        references.retain(user);
        try {
            CompletableFuture<Response> fetched = calls.callAsyncFromHere(fetchRequest(user, timeout));
            fetched.whenComplete((response, failure) -> references.release(user));
            return fetched;
        } catch (RuntimeException e) {
            references.release(user);
            throw e;
        }
    }

    private Request fetchRequest(UserReference user, Duration timeout) {
        FetchRequest fetch = new FetchRequest(user.id(), user.owner(), references.ownerEpoch(user));
        return fetch.toRequest().timeout(timeout);
    }

    Duration defaultTimeout() {
        return calls.defaultTimeout();
    }

    /** Copies a value into this worker's own memory, with its own handles of the references in it. */
    public StoredValue store(byte[] array, int length, List<Tensor> tensors, List<? extends RRef> held) {
        return StoredValue.copy(array, length, tensors, held, transit);
    }

    /** Returns the receiver that puts tensors of values on their devices. */
    TensorReceiver receiver() {
        return transit.receiver();
    }

    /** Restores the values that earlier incarnations of this worker kept. */
    public void restore() {
        if (serves) {
            keeper.restore(transit.pool());
        }
    }

    // ---- reports for an operator

    @Override
    public void onReleasedForDead(Holder dead, int forks) {
        LOG.warn(
                "Worker {} (epoch {}) died with {} references to values of this worker; they are released",
                dead.worker(),
                dead.epoch(),
                forks);
    }

    @Override
    public void onOverdue(ControlMessage message, int to, String why) {
        LOG.warn("{} was not acknowledged by worker {}, and is sent again now and then: {}", message, to, why);
    }

    @Override
    public void onLeak(ReferenceStatus leaked) {
        leaks.add(leaked, describe(leaked.peer().worker()));
    }

    @Override
    public void onKept(int values) {
        LOG.info("{} values of references stay on the disk for those who have them", values);
    }

    public void unreadable(PeerLink link, RejectedMessageException why) {
        LOG.warn("The references of a message of worker {} can't be given back: {}", link, why.getMessage());
    }

    /** Returns the time at which {@link #tick} is due next, on the monotonic clock. */
    public long nextDueNs() {
        return references.nextDueNs();
    }

    /** Runs the actions that are due. */
    public void tick() {
        background.start();
        keeper.tick();
        if (host.clock().monotonicNs() >= references.nextDueNs() && ticking.compareAndSet(false, true)) {
            background.run(() -> {
                ticking.set(false); // first: also when the tick throws
                references.tick();
            });
        }
    }

    public void close() {
        new CloseSteps()
                .attempt(references::close)
                .attempt(leaks::end)
                .attempt(() -> executor.close(Duration.ZERO))
                .attempt(keeper::close)
                .finishUnchecked();
    }
}
