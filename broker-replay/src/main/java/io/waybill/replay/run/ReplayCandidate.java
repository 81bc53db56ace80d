package io.waybill.replay.run;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.Message;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.WorkerInfo;
import io.waybill.api.handler.Outbox;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.device.DeviceRegistry;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.HandlerTable;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.Provider;
import io.waybill.exchange.ExchangeContext;
import io.waybill.exchange.HandlerErrors;
import io.waybill.exchange.HandlerLookup;
import io.waybill.exchange.HandlerStack;
import io.waybill.exchange.RequestSource;
import io.waybill.handling.CallReports;
import io.waybill.handling.Failure;
import io.waybill.handling.HeldResponse;
import io.waybill.handling.InterceptorDepth;
import io.waybill.handling.Route;
import io.waybill.host.Host;
import io.waybill.intercept.InterceptorChain;
import io.waybill.intercept.InterceptorRegistry;
import io.waybill.intercept.InterceptorTable;
import io.waybill.replay.recording.NotRecordedException;
import io.waybill.replay.state.LackedInput;
import io.waybill.rref.id.FetchRequest;
import io.waybill.rref.id.ForkData;
import io.waybill.rref.id.RRefId;
import io.waybill.tensor.DeviceTensors;
import io.waybill.wire.Envelope;
import io.waybill.wire.RecordView;
import java.io.Closeable;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;

/**
 * Handlers for a replay, with the values that they create.
 *
 * <p><b>Threads.</b> One thread runs the handlers; references may be used by others. <b>Ownership.</b> Closes its
 * handlers.
 */
public final class ReplayCandidate implements Closeable {

    private static final Provider PROVIDER = new Provider("waybill", "");
    /** Counter of handler errors, which is ignored: errors are part of the outcome here. */
    private static final HandlerErrors IGNORED = new HandlerErrors() {
        @Override
        public void threw(HandlerEntry entry, RequestSource request, Throwable error) {
            // the outcome reports it
        }

        @Override
        public void noResponse(HandlerEntry entry) {
            // the outcome reports it
        }

        @Override
        public void notReleased(HandlerEntry entry, Throwable error) {
            // nothing is recycled here
        }
    };

    private final String name;
    private final WorkerInfo worker;
    private final Registries registries;
    private final DeviceTensors devices;
    private final InterceptorDepth depth = new InterceptorDepth();
    private final Closeable handlers;
    private final Supplier<List<String>> problems;
    private List<String> known; // null until a handler is missing; owned by the thread that runs the handlers
    // By bundle, why its state differs from the recorded one. Owned by the thread that runs the handlers, then by its
    // replacement.
    private final Map<String, String> lost = new ConcurrentHashMap<>();
    private final ReplayedValues values;
    private RequestRunner runner; // set before a thread that runs handlers starts
    // Set by the thread that runs the handlers, read by their other threads too.
    private final AtomicReference<ReplayServices> running = new AtomicReference<>();

    /**
     * Registries for the services of a candidate's bundles, or of a program.
     *
     * @param own contains the handler of fetches, and no listeners for events
     * @param lacked collects missing inputs that they report
     */
    public record Registries(
            HandlerRegistry handlers,
            HandlerRegistry own,
            InterceptorRegistry interceptors,
            DeviceRegistry devices,
            LackedInput lacked) {

        /** Creates empty registries. */
        public static Registries on(Host host) {
            return new Registries(
                    new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock()),
                    new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock()),
                    new InterceptorRegistry(host),
                    new DeviceRegistry(host.threads()),
                    new LackedInput());
        }
    }

    /**
     * Creates a candidate.
     *
     * @param problems why some handlers are missing; called once, at the first missing one
     */
    public ReplayCandidate(
            String name,
            WorkerInfo worker,
            Registries registries,
            Closeable handlers,
            Supplier<List<String>> problems) {
        this.name = name;
        this.worker = worker;
        this.registries = registries;
        this.devices = new DeviceTensors(registries.devices());
        this.handlers = handlers;
        this.problems = problems;
        this.values = new ReplayedValues(worker.id());
        HandlerExecutor unused = registries.own().newExecutor(PROVIDER, ExecutorSettings.forProcessors(1));
        HandlerKey fetch = new HandlerKey.OfType(MessageType.SCRIPT_RREF_FETCH_CALL);
        registries.own().add(HandlerSpec.of(fetch, this::fetch, PROVIDER, unused));
    }

    String name() {
        return name;
    }

    WorkerInfo worker() {
        return worker;
    }

    HandlerTable table() {
        return registries.handlers().table();
    }

    LackedInput lacked() {
        return registries.lacked();
    }

    /** Returns a converter of tensors between host memory and the devices for which the candidate has converters. */
    DeviceTensors devices() {
        return devices;
    }

    /**
     * Returns the interceptors around an outgoing call; null for none. Calls are not counted, because no interceptor is
     * replaced in a replay.
     */
    InterceptorChain<CallInterceptor> interceptorsOf(Request request) {
        InterceptorTable<CallInterceptor> present =
                registries.interceptors().calls().table();
        return present.isEmpty() || depth.isInside()
                ? null
                : present.find(request.type(), request.payloadArray(), request.payloadLength());
    }

    InterceptorDepth depth() {
        return depth;
    }

    /**
     * Returns the shared context of the exchanges of its requests. @param stack stack of the thread that runs the
     * handlers
     */
    ExchangeContext exchanges(Host host, HandlerStack stack) {
        return new ExchangeContext(
                worker.id(),
                host.clock(),
                host.threads(),
                registries.interceptors().handlers(),
                () -> stack,
                new CallReports(registries.own().events(), host.clock()),
                IGNORED);
    }

    /** Returns the lookup for the handlers of messages inside its requests. */
    HandlerLookup lookup() {
        return new HandlerLookup(registries.handlers(), registries.own(), this::unknown);
    }

    private Failure unknown(RecordView request, HandlerTable table) {
        HandlerKey key = Route.key(table, request);
        stopped(RunOutcome.failed(missing(key)));
        return Failure.unknown(worker.id(), key, table);
    }

    /** Responds with a value of this worker, for a message inside a request. */
    private void fetch(Message message, Outbox outbox) throws RejectedMessageException {
        try (Response value = read(FetchRequest.decode(message.payload()).id())) {
            value.tensors().forEach(tensor -> tensor.storage().retain()); // the response releases a count of each
            outbox.respond(value.payload(), value.tensors(), value.references());
        } catch (CallException e) {
            outbox.later().fail(e.code(), e.getMessage(), e);
        }
    }

    /** Describes the missing handler and the reason. */
    String missing(HandlerKey key) {
        String missing = "there is no handler for " + key.text();
        if (known == null) {
            known = problems.get();
        }
        return known.isEmpty() ? missing : missing + "; " + String.join("; ", known);
    }

    /**
     * Records that a call could not leave its recorded state in its handler and interceptors; the first one of each
     * bundle counts.
     */
    void losesState(RecordView by) {
        String why = "call " + MessageId.text(by.id()) + ", which began before it, could not be replayed";
        providers(by).forEach(provider -> lost.putIfAbsent(provider, why));
    }

    /**
     * Returns why the state of a request's handler and interceptors differs from the recorded state; empty if it is not
     * known to differ.
     */
    String lostState(RecordView request) {
        return lost.isEmpty()
                ? ""
                : providers(request).stream()
                        .filter(lost::containsKey)
                        .map(lost::get)
                        .findFirst()
                        .orElse("");
    }

    /** Returns the names of the bundles that take part in a request: the handler's, then those of interceptors. */
    private List<String> providers(RecordView request) {
        List<String> providers = new ArrayList<>();
        HandlerEntry entry = Route.find(table(), request);
        if (entry != null) {
            providers.add(entry.provider().name());
        }
        InterceptorChain<HandlerInterceptor> around = interceptorsAround(request);
        for (int i = 0; around != null && i < around.size(); i++) {
            providers.add(around.get(i).provider().name());
        }
        return providers;
    }

    /** Returns the interceptors around the handler of a request; null for none. */
    InterceptorChain<HandlerInterceptor> interceptorsAround(RecordView request) {
        return registries
                .interceptors()
                .handlers()
                .table()
                .find(request.typeCode(), request.buffer().memory(), Envelope.HEADER_LENGTH, request.payloadLength());
    }

    ReplayedValues values() {
        return values;
    }

    void runs(RequestRunner by) {
        runner = by;
    }

    RequestRunner runner() {
        return runner;
    }

    /** Sets the current run. Returns the previous one, which continues afterwards; null for none. */
    ReplayServices begin(ReplayServices attempt) {
        return running.getAndSet(attempt);
    }

    /** Ends a run, unless its thread was abandoned and another one has replaced it. */
    void end(ReplayServices attempt, ReplayServices before) {
        running.compareAndSet(attempt, before);
    }

    /** Returns the references of a message. */
    List<RRef> references(List<ForkData> recorded) {
        if (recorded.isEmpty()) {
            return List.of();
        }
        List<RRef> references = new ArrayList<>(recorded.size());
        for (ForkData each : recorded) {
            references.add(new ReplayedReference(this, each, Optional.empty()));
        }
        return references;
    }

    /** Binds the recorded names of a message's values to the replayed references. */
    void bind(List<ForkData> recorded, List<? extends RRef> replayed) {
        for (int i = 0; i < Math.min(recorded.size(), replayed.size()); i++) {
            if (recorded.get(i).owner() == worker.id()
                    && replayed.get(i) instanceof ReplayedReference own
                    && own.isOwner()) {
                values.bind(recorded.get(i).rref(), own.id());
            }
        }
    }

    /** Returns a value of this worker; creates it if its request has not run yet. */
    Response read(RRefId id) {
        ReplayedValue value;
        try {
            value = runner.isMine() ? runner.require(id) : made(id);
        } catch (NotRecordedException | IOException e) {
            throw stopped(RunOutcome.notReplayable(e.getMessage()));
        }
        if (value.failure().isPresent()) {
            throw value.failure().get();
        }
        return new HeldResponse(
                new HeldResponse.Header(MessageType.SCRIPT_RREF_FETCH_RET, MessageId.NONE, worker.id()),
                value.payload(),
                value.retainTensors(),
                value.references());
    }

    private ReplayedValue made(RRefId id) throws NotRecordedException {
        return values.find(id)
                .orElseThrow(() -> new NotRecordedException(
                        "a thread of the handler's own reads the value of " + id + ", which was not made yet"));
    }

    /** Returns a value of another worker on behalf of the running request. */
    Response fetch(ReplayedReference reference, Duration timeout) {
        ReplayServices attempt = running.get();
        if (attempt == null) {
            throw refused("no request is being replayed");
        }
        FetchRequest fetch = new FetchRequest(reference.id(), reference.owner(), reference.ownerEpoch());
        return attempt.call(fetch.toRequest().timeout(timeout));
    }

    private CallException stopped(RunOutcome.Stopped why) {
        ReplayServices attempt = running.get();
        if (attempt != null) {
            attempt.stop(why);
        }
        return refused(why.reason());
    }

    static CallException refused(String text) {
        return new CallException(ErrorKind.UNKNOWN_ERROR, ErrorCode.UNKNOWN_CALL, MessageId.NONE, "replay: " + text);
    }

    @Override
    public void close() throws IOException {
        values.close();
        handlers.close();
    }
}
