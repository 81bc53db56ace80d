package io.waybill.replay.run;

import io.waybill.api.CallException;
import io.waybill.api.Caller;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Rpc;
import io.waybill.api.context.CallContext;
import io.waybill.api.handler.RequestArrival;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.exchange.HandlerServices;
import io.waybill.handling.CallHooks;
import io.waybill.handling.Failure;
import io.waybill.handling.HeldResponse;
import io.waybill.intercept.InterceptorChain;
import io.waybill.replay.recording.NotRecordedException;
import io.waybill.replay.recording.RecordedCall;
import io.waybill.replay.recording.RecordedMessage;
import io.waybill.wire.MalformedRecordException;
import io.waybill.wire.Observations;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.random.RandomGenerator;

/**
 * Services for a handler in a replay. Nested calls get the recorded responses, and are not sent.
 *
 * <p><b>Threads.</b> The handler's; any thread may call.
 */
final class ReplayServices implements HandlerServices {

    private final RecordedCall recorded;
    private final ReplayCandidate candidate;
    private final RequestRunner.Surroundings surroundings;
    private final long sentNs;
    // set by the thread that finds the first reason, read after the handler returned
    private final AtomicReference<RunOutcome.Stopped> stopped = new AtomicReference<>();
    private final AtomicReference<String> elsewhere = new AtomicReference<>(""); // set and read like stopped
    private NestedCallMatcher nested; // guarded by this; null until a handler calls
    private RecordedObservations observed; // guarded by this; null until a handler observes
    private volatile boolean ended; // set by the thread that runs handlers, read by those that still call

    ReplayServices(
            RecordedCall recorded,
            ReplayCandidate candidate,
            RequestRunner.Surroundings surroundings,
            RecordView view) {
        this.recorded = recorded;
        this.candidate = candidate;
        this.surroundings = surroundings;
        this.sentNs = view.sentNs();
    }

    ReplayCandidate candidate() {
        return candidate;
    }

    /** Returns the name of the worker whose journal has the request. */
    String senderName() {
        return recorded.request().worker().name();
    }

    /** Marks the result as meaningless, for a reason; only the first one counts. */
    void stop(RunOutcome.Stopped why) {
        stopped.compareAndSet(null, why);
    }

    /** Returns the reason; null if there is none. */
    RunOutcome.Stopped stopped() {
        return stopped.get();
    }

    /** Returns why tensors of the handler's responses are not on their devices; empty if they are. */
    String elsewhere() {
        return elsewhere.get();
    }

    /** Closes the nested calls. */
    void end() {
        ended = true;
    }

    /** Returns the recorded response immediately. */
    Response call(Request request) {
        if (surroundings.stack().isInline()) {
            throw Failure.mustNotWait();
        }
        ReplayedNestedCall asked = ask(request, true);
        if (!asked.hasOutcome()) {
            throw stopWith(RunOutcome.notReplayable("what its handler learned of call " + MessageId.text(asked.id())
                    + " is not on record: there is no response to it"));
        }
        return asked.response();
    }

    /**
     * Passes a request through its interceptors, and finds the matching recorded call.
     *
     * @param isAwaited whether the calling thread waits for the outcome
     * @throws CallException if there is none, or an interceptor fails the call
     */
    ReplayedNestedCall ask(Request request, boolean isAwaited) {
        InterceptorChain<CallInterceptor> interceptors = candidate.interceptorsOf(request);
        CallContext context = CallContext.current();
        if (interceptors == null) {
            return new ReplayedNestedCall(this, match(request, context), null);
        }
        CallHooks hooks = new CallHooks(candidate.depth());
        hooks.open(interceptors, request, recorded.id(), context);
        try {
            Request intercepted = hooks.request(isAwaited);
            return new ReplayedNestedCall(this, match(intercepted, hooks.sentContext()), hooks);
        } catch (RuntimeException | Error e) {
            hooks.failed(CallHooks.notSent(e));
            hooks.releaseKept();
            throw e;
        } finally {
            hooks.releaseRequest();
        }
    }

    /**
     * Returns the recorded call that matches a request.
     *
     * @throws CallException if there is none
     */
    private NestedCall match(Request request, CallContext context) {
        if (ended) {
            throw new IllegalStateException("the outbox is dead: its handler has returned");
        }
        for (RRef reference : request.references()) {
            if (!(reference instanceof ReplayedReference)) {
                throw ReplayCandidate.refused("a reference that travels must be one of this worker's: " + reference);
            }
        }
        try {
            NestedCall asked = nested().take(request, context);
            candidate.bind(asked.request().references(), request.references());
            requireInTime(asked, request.timeoutNs());
            return asked;
        } catch (NestedCallMatcher.UnmatchedCallException e) {
            throw stopWith(RunOutcome.departed(e.getMessage()));
        } catch (NotRecordedException | RejectedMessageException | IOException e) {
            throw stopWith(RunOutcome.notReplayable(e.getMessage()));
        }
    }

    /** Returns the recorded call for a further attempt; null if there is none with an outcome. */
    NestedCall attempt(Request request, CallContext context) {
        try {
            NestedCall asked = nested().take(request, context);
            candidate.bind(asked.request().references(), request.references());
            return asked.response().isPresent() ? asked : null;
        } catch (NestedCallMatcher.UnmatchedCallException e) {
            return null;
        } catch (NotRecordedException | RejectedMessageException | IOException e) {
            throw stopWith(RunOutcome.notReplayable(e.getMessage()));
        }
    }

    private void requireInTime(NestedCall asked, long timeoutNs) {
        if (timeoutNs > 0
                && asked.response().isPresent()
                && asked.response().get().sentNs() - asked.request().sentNs() > timeoutNs) {
            throw stopWith(RunOutcome.notReplayable(
                    "call " + MessageId.text(asked.call().id()) + " got its response after its timeout of "
                            + timeoutNs / 1_000_000 + " ms"));
        }
    }

    /**
     * Returns the recorded response, which the caller owns.
     *
     * @throws CallException the recorded error
     */
    HeldResponse response(NestedCall asked) {
        RecordContent content = asked.response().orElseThrow();
        if (content.isError()) {
            throw content.failure();
        }
        try {
            List<Tensor> tensors = content.tensorCount() == 0
                    ? List.of()
                    : placed(asked.call().response().orElseThrow());
            return new HeldResponse(
                    new HeldResponse.Header(content.type(), content.id(), content.from()),
                    content.payload(),
                    tensors,
                    candidate.references(content.references()));
        } catch (NotRecordedException | IOException e) {
            throw stopWith(RunOutcome.notReplayable(e.getMessage()));
        } catch (RejectedMessageException e) {
            throw new CallException(ErrorKind.UNKNOWN_ERROR, e.code(), content.id(), e.getMessage());
        }
    }

    private List<Tensor> placed(RecordedMessage message)
            throws NotRecordedException, IOException, RejectedMessageException {
        RecordingAccess.Placed placed = surroundings.records().placed(message, candidate.devices());
        elsewhere.compareAndSet("", placed.elsewhere());
        return placed.tensors();
    }

    private CallException stopWith(RunOutcome.Stopped why) {
        stop(why);
        return ReplayCandidate.refused(why.reason());
    }

    private synchronized NestedCallMatcher nested() throws IOException, RejectedMessageException {
        if (nested == null) {
            nested = new NestedCallMatcher(
                    surroundings, candidate.devices(), surroundings.records().nested(recorded));
        }
        return nested;
    }

    @Override
    public Caller caller() {
        return new RecordedCaller(this);
    }

    @Override
    public Rpc rpc() {
        return new RecordedRpc(this);
    }

    @Override
    public TensorBuffers buffers() {
        return surroundings.settings().buffers();
    }

    @Override
    public InstantSource clock() {
        return observed();
    }

    @Override
    public RequestArrival arrival() {
        return observed().arrival(sentNs);
    }

    @Override
    public RandomGenerator random() {
        return observed().random();
    }

    @Override
    public long leftNs(long deadlineNs) {
        return observed().leftNs();
    }

    private synchronized RecordedObservations observed() {
        if (observed == null) {
            observed = new RecordedObservations(observations(), why -> stop(RunOutcome.notReplayable(why)));
        }
        return observed;
    }

    private Observations observations() {
        try {
            return recorded.response().isEmpty()
                    ? Observations.NONE
                    : surroundings.records().observations(recorded.response().get());
        } catch (MalformedRecordException e) {
            stop(RunOutcome.notReplayable("what its handler observed can't be read: " + e.getMessage()));
            return Observations.NONE;
        }
    }
}
