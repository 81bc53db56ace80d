package io.waybill.profiler;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.broker.Broker;
import io.waybill.api.broker.Incarnation;
import io.waybill.api.context.ContextScope;
import io.waybill.api.device.DeviceConverter;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.HandledMessage;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.api.intercept.IncomingResponse;
import io.waybill.api.intercept.InterceptedCall;
import io.waybill.api.intercept.InterceptedMessage;
import io.waybill.api.intercept.InterceptsMessage;
import io.waybill.api.intercept.OutgoingCall;
import io.waybill.profiler.message.ProfilingId;
import io.waybill.profiler.message.ProfilingRequest;
import io.waybill.profiler.message.ProfilingResponse;
import io.waybill.profiler.profile.Profile;
import io.waybill.profiler.profile.ProfileEvent;
import io.waybill.profiler.profile.ProfileEvent.Kind;
import io.waybill.profiler.profile.ProfileEvent.Outcome;
import io.waybill.profiler.profile.ProfilerConfig;
import io.waybill.profiler.record.CurrentEvent;
import io.waybill.profiler.record.ProfiledHandler;
import io.waybill.profiler.record.Recording;
import io.waybill.profiler.record.Recordings;
import io.waybill.profiler.record.Recordings.Entered;
import io.waybill.profiler.record.Recordings.OpenEvent;
import io.waybill.profiler.record.ServerRange;
import io.waybill.profiler.record.ServerRanges;
import io.waybill.profiler.record.ServerRanges.ServedRequest;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.component.annotations.ReferencePolicyOption;

/**
 * The profiler of one worker: the service, the wrapping of calls, and the events of handlers. In a node it is a
 * component; a program creates one with its worker's {@link Broker}, and adds it with {@link ProfilingRequests} to its
 * worker.
 *
 * <p><b>Threads.</b> Any.
 */
@Component(
        service = {RemoteProfiler.class, Profiler.class, CallInterceptor.class, HandlerInterceptor.class},
        property = "service.ranking:Integer=" + RemoteProfiler.RANKING)
@InterceptsMessage
public final class RemoteProfiler implements Profiler, CallInterceptor, HandlerInterceptor {

    /**
     * Service ranking: farther from the program than autograd, so that a profiled call contains the autograd message;
     * nearer to handlers than others.
     */
    static final int RANKING = 500;

    private final Broker broker;
    private final Recordings recordings = new Recordings();
    private final ServerRanges ranges;
    private final ProfiledHandler handler;

    /** Recorded call, with the id of the recording at its callee; null if the callee does not record. */
    private record Profiled(OpenEvent event, ProfilingId id) {}

    /**
     * Creates the profiler of a node.
     *
     * @param cuda converter of the node for CUDA; none without CUDA
     */
    @Activate
    public RemoteProfiler(
            @Reference Broker broker,
            @Reference(
                            target = "(waybill.converts.device=cuda)",
                            cardinality = ReferenceCardinality.MULTIPLE,
                            policyOption = ReferencePolicyOption.GREEDY)
                    List<DeviceConverter> cuda) {
        this(broker, !cuda.isEmpty());
    }

    /** Creates the profiler of a program's worker, without CUDA. */
    public RemoteProfiler(Broker broker) {
        this(broker, false);
    }

    private RemoteProfiler(Broker broker, boolean hasCuda) {
        this.broker = broker;
        this.ranges = new ServerRanges(recordings, broker.self().worker().id(), broker.clock());
        this.handler =
                new ProfiledHandler(recordings, ranges, broker.self().worker().id(), broker.clock(), hasCuda);
    }

    MessageHandler handler() {
        return handler;
    }

    /**
     * Returns the number of profiles, profiled calls of other workers, and requests of server-wide profiles that are
     * being recorded here.
     */
    public int recordings() {
        return recordings.size();
    }

    /** Returns the event that the calling thread is in; null if it is in none. */
    OpenEvent current() {
        return recordings.current();
    }

    // ---- the service

    @Override
    public ProfileSession begin(ProfilerConfig config) {
        long base = broker.nextId();
        Recording recording = new Recording(
                new ProfilingId(base, 0),
                base,
                handler.possible(config),
                broker.self().worker().id(),
                broker.clock(),
                broker.clock());
        recordings.add(recording);
        return new Session(recording, new CurrentEvent(recording.id(), ProfileEvent.NO_PARENT).enter());
    }

    /** A profile of this worker. */
    private final class Session implements ProfileSession {

        private final Recording recording;
        private final ContextScope scope; // null if there was no room for it
        private Profile profile; // null until it ends

        Session(Recording recording, ContextScope scope) {
            this.recording = recording;
            this.scope = scope;
        }

        @Override
        public synchronized Profile end() {
            if (profile == null) {
                CurrentEvent.leave(scope);
                recordings.remove(recording);
                profile = new Profile(recording.close(), names(), recording.dropped());
            }
            return profile;
        }

        @Override
        public void close() {
            end();
        }
    }

    @Override
    public ServerProfileSession beginServerProcessGlobal(ProfilerConfig config) {
        return new ServerSession(ranges.begin(handler.possible(config)));
    }

    /** A server-wide profile of this worker. */
    private final class ServerSession implements ServerProfileSession {

        private final ServerRange range;

        ServerSession(ServerRange range) {
            this.range = range;
        }

        @Override
        public Profile profile() {
            return new Profile(range.events(), names(), range.dropped());
        }

        @Override
        public Profile end() {
            ranges.end(range);
            return profile();
        }
    }

    private Map<Integer, String> names() {
        Map<Integer, String> names = new TreeMap<>();
        for (Incarnation peer : broker.peers()) {
            names.put(peer.worker().id(), peer.worker().name());
        }
        names.put(broker.self().worker().id(), broker.self().worker().name());
        return names;
    }

    @Override
    public ProfileScope scope(String name) {
        return new OpenScope(recordings, recordings.begin(Kind.SCOPE, () -> name, List.of()));
    }

    @Override
    public boolean isInterceptingCalls() {
        return recordings.isAny();
    }

    @Override
    public boolean isInterceptingHandlers() {
        return recordings.isAny() || ranges.isAny();
    }

    // ---- calls of this worker

    @Override
    public void onRequest(OutgoingCall call) throws RejectedMessageException {
        if (!isInterceptingCalls() || call.type() == MessageType.RUN_WITH_PROFILING_REQ) {
            return;
        }
        OpenEvent event = recordings.begin(call.parentId(), Kind.CALL, () -> key(call), call.tensors());
        if (event == null) {
            return;
        }
        // true if no handler serves the call
        boolean isUnserved = call.calledType() == MessageType.SCRIPT_RREF_FETCH_CALL;
        if (isUnserved || event.recording().isLocal()) {
            call.attach(new Profiled(event, null));
            return;
        }
        ProfilingId id = event.recording().nextCall();
        call.wrap(
                MessageType.RUN_WITH_PROFILING_REQ,
                new ProfilingRequest(id, event.recording().config(), call.type(), call.payload()).encode());
        // the callee has its own event; this one would only add work
        call.context(CurrentEvent.without(call.context()));
        call.attach(new Profiled(event, id));
    }

    private String key(OutgoingCall call) {
        return ProfilingKey.of(call, broker.self().worker(), broker::peers);
    }

    @Override
    public void onResponse(IncomingResponse incoming) throws RejectedMessageException {
        if (!(incoming.attachment() instanceof Profiled profiled)) {
            return;
        }
        OpenEvent event = profiled.event;
        if (profiled.id == null) {
            event.end(Outcome.DONE, incoming.response().tensors());
            return;
        }
        try {
            ProfilingResponse response = opened(incoming, profiled.id);
            boolean isError = response.type() == MessageType.EXCEPTION;
            event.end(
                    isError ? Outcome.FAILED : Outcome.DONE, incoming.response().tensors());
            event.recording().add(event.index(), response.events(), response.dropped());
            if (isError) {
                throw response.error();
            }
            incoming.unwrap(response.type(), response.payload());
        } finally {
            event.end(Outcome.FAILED, List.of()); // for a malformed response; all other events have ended
        }
    }

    private static ProfilingResponse opened(IncomingResponse incoming, ProfilingId id) throws RejectedMessageException {
        if (incoming.response().type() != MessageType.RUN_WITH_PROFILING_RESP) {
            throw new RejectedMessageException(
                    ErrorCode.MALFORMED_BODY,
                    "the response to a profiled call is a RUN_WITH_PROFILING_RESP, and this one is a "
                            + incoming.response().type());
        }
        ProfilingResponse response =
                ProfilingResponse.decode(incoming.response().payload());
        if (!response.id().equals(id)) {
            throw new RejectedMessageException(
                    ErrorCode.MALFORMED_BODY, "a response to " + response.id() + " came to call " + id);
        }
        return response;
    }

    @Override
    public void onFailure(InterceptedCall call, CallException failure) {
        if (call.attachment() instanceof Profiled profiled) {
            profiled.event.end(Outcome.FAILED, List.of());
        }
    }

    // ---- handlers of this worker

    /** Recorded handler, with its request, if that is recorded for this worker. */
    private record Running(OpenEvent event, Entered entered, ServedRequest request) {}

    @Override
    public void before(InterceptedMessage message, Outbox outbox) {
        if (!isInterceptingHandlers() || message.type() == MessageType.RUN_WITH_PROFILING_REQ) {
            return;
        }
        OpenEvent event =
                recordings.begin(message.id(), Kind.HANDLER, () -> ProfilingKey.operation(message), message.tensors());
        if (event != null) {
            message.attach(new Running(event, recordings.enter(event), null));
            return;
        }
        ServedRequest request = ranges.begin(message);
        if (request != null) {
            OpenEvent served = request.begin(ProfilingKey.operation(message), message.tensors(), outbox.arrival());
            message.attach(new Running(served, recordings.enter(served), request));
        }
    }

    @Override
    public void after(HandledMessage outcome) {
        if (outcome.attachment() instanceof Running running) {
            running.event.end(outcome.error().isPresent() ? Outcome.FAILED : Outcome.DONE, outcome.tensors());
            running.entered.leave();
            if (running.request != null) {
                ranges.end(running.request);
            }
        }
    }
}
