package io.waybill.replay.run;

import io.waybill.api.CallException;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.StuckSettings;
import io.waybill.exchange.Exchange;
import io.waybill.exchange.ExchangeContext;
import io.waybill.exchange.InnerRequests;
import io.waybill.handling.Delivered;
import io.waybill.handling.Failure;
import io.waybill.handling.InboundMessage;
import io.waybill.handling.OutgoingResponse;
import io.waybill.handling.Route;
import io.waybill.host.Host;
import io.waybill.host.failure.ForeignErrors;
import io.waybill.intercept.InterceptorChain;
import io.waybill.osgi.watch.HandlerWatch;
import io.waybill.osgi.watch.UnrecordedInput;
import io.waybill.replay.compare.ComparedResponse;
import io.waybill.replay.recording.NotRecordedException;
import io.waybill.replay.recording.RecordedCall;
import io.waybill.replay.state.KeptState;
import io.waybill.replay.state.LackedInput;
import io.waybill.rref.id.FetchRequest;
import io.waybill.rref.id.ForkData;
import io.waybill.rref.id.ForkTable;
import io.waybill.rref.id.RRefId;
import io.waybill.tensor.DeviceTensors;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Runs recorded requests through the handlers of one candidate, one after the other.
 *
 * <p>Belongs to the thread that runs handlers.
 */
final class RequestRunner {

    private final ReplayCandidate candidate;
    private final Surroundings surroundings;
    private final Set<RRefId> beingMade;
    private final MessageBuffer buffer = new MessageBuffer();
    private final RecordView view = new RecordView(buffer);
    private final InboundMessage message = new InboundMessage(
            view, deadlineNs -> services().leftNs(deadlineNs), () -> services().senderName());
    private final ExchangeContext context;
    private final InnerRequests inner;
    private final Map<Object, Optional<String>> kept = new IdentityHashMap<>(); // by handler or interceptor
    private ReplayServices services; // set before a handler sees the message

    /** Environment of a run. */
    record Surroundings(RecordingAccess records, ReplayStack stack, RunSettings settings, Host host) {}

    RequestRunner(ReplayCandidate candidate, Surroundings surroundings) {
        this(candidate, surroundings, new HashSet<>());
    }

    private RequestRunner(ReplayCandidate candidate, Surroundings surroundings, Set<RRefId> beingMade) {
        this.candidate = candidate;
        this.surroundings = surroundings;
        this.beingMade = beingMade;
        this.context = candidate.exchanges(surroundings.host(), surroundings.stack());
        this.inner = new InnerRequests(context, candidate.lookup(), StuckSettings.DEFAULT, 0, true);
    }

    private ReplayServices services() {
        return services;
    }

    /** Returns whether the calling thread is the one that runs handlers. */
    boolean isMine() {
        return surroundings.stack().isMine();
    }

    /** Runs a request. The caller releases each storage of the response's tensors once. */
    RunOutcome run(RecordedCall call) {
        call.request().in(buffer);
        try {
            return view.type() == MessageType.SCRIPT_RREF_FETCH_CALL ? fetch(call) : handle(call);
        } catch (RejectedMessageException e) {
            return RunOutcome.error(Failure.rejected(candidate.worker().id(), e));
        } catch (NotRecordedException e) {
            return RunOutcome.notReplayable(e.getMessage());
        } catch (IOException e) {
            return RunOutcome.notReplayable("the recording can't be read: " + e.getMessage());
        } catch (RuntimeException e) { // the boundary around what is foreign and no handler, such as storages
            return RunOutcome.failed("its run ended early: " + ForeignErrors.describe(e));
        }
    }

    /**
     * Returns the state that a request's handler, or an interceptor around it, may keep between calls; empty if none is
     * found.
     */
    Optional<String> keptState(RecordedCall call) {
        call.request().in(buffer);
        HandlerEntry entry = Route.find(candidate.table(), view);
        Optional<String> found = entry == null ? Optional.empty() : keptState(entry.handler());
        InterceptorChain<HandlerInterceptor> around = candidate.interceptorsAround(view);
        for (int i = 0; around != null && found.isEmpty() && i < around.size(); i++) {
            found = keptState(around.get(i).interceptor());
        }
        return found;
    }

    private Optional<String> keptState(Object foreign) {
        return kept.computeIfAbsent(foreign, KeptState::of);
    }

    private RunOutcome fetch(RecordedCall call) throws RejectedMessageException, NotRecordedException, IOException {
        ReplayedValue value = require(FetchRequest.decode(view.payload()).id());
        if (value.failure().isPresent()) {
            CallException why = value.failure().get();
            return RunOutcome.error(Failure.late(why.code(), why.getMessage()));
        }
        bind(call, value.references());
        return RunOutcome.values(
                OutgoingResponse.typeFor(view.type()), value.payload(), value.retainTensors(), value.references());
    }

    private RunOutcome handle(RecordedCall call) throws RejectedMessageException, NotRecordedException, IOException {
        HandlerEntry entry = Route.find(candidate.table(), view);
        if (entry == null) {
            return RunOutcome.failed(candidate.missing(Route.key(candidate.table(), view)));
        }
        List<ForkData> recorded = view.hasReferences() ? ForkTable.decode(view.copyReferences()) : List.of();
        boolean creates = view.isCreation() && !recorded.isEmpty();
        List<ForkData> arguments = creates ? recorded.subList(0, recorded.size() - 1) : recorded;
        for (ForkData argument : arguments) {
            if (argument.owner() == candidate.worker().id()) {
                require(argument.rref());
            }
        }
        RecordingAccess.Placed placed = surroundings.records().placed(call.request(), candidate.devices());
        List<Tensor> tensors = placed.tensors();
        try {
            message.open(entry.key(), delivered(call), tensors);
            message.references(candidate.references(arguments));
            ForkData created = creates ? recorded.get(recorded.size() - 1) : null;
            return runHandler(entry, call, created).afterReading(placed.elsewhere());
        } finally {
            message.close();
            tensors.forEach(tensor -> tensor.storage().release());
        }
    }

    /**
     * Returns a response with its tensors in host memory, where they are compared. Takes ownership of the counts of
     * their storages.
     */
    ComparedResponse onHost(ComparedResponse response) throws RejectedMessageException {
        return DeviceTensors.isAmong(response.tensors())
                ? response.with(candidate
                        .devices()
                        .onHost(response.tensors(), surroundings.settings().buffers()))
                : response;
    }

    private static Delivered delivered(RecordedCall call) {
        boolean isAgain = call.response().isPresent() && call.response().get().isAcrossIncarnations();
        return isAgain ? Delivered.AGAIN : Delivered.FIRST;
    }

    /**
     * Returns a value of this worker; creates it if its request has not run yet.
     *
     * @throws NotRecordedException if no recorded request created it
     */
    ReplayedValue require(RRefId id) throws NotRecordedException, IOException {
        Optional<ReplayedValue> value = candidate.values().find(id);
        if (value.isPresent()) {
            return value.get();
        }
        Optional<RecordedCall> creation = surroundings.records().creation(id);
        if (creation.isEmpty() || !beingMade.add(id)) {
            throw new NotRecordedException("no request on record made the value of " + id
                    + " on this worker: its program did, or an incarnation whose journals are gone");
        }
        try {
            new RequestRunner(candidate, surroundings, beingMade).run(creation.get());
        } finally {
            beingMade.remove(id);
        }
        return candidate
                .values()
                .find(id)
                .orElseThrow(() -> new NotRecordedException(
                        "the value of " + id + " could not be made by running the request again that made it"));
    }

    /** @param created null if the request creates no value */
    private RunOutcome runHandler(HandlerEntry entry, RecordedCall call, ForkData created)
            throws RejectedMessageException {
        ReplayServices attempt = new ReplayServices(call, candidate, surroundings, view);
        services = attempt;
        RecordedRequest request = new RecordedRequest(attempt, view, message, delivered(call), created);
        Exchange exchange = new Exchange(context, inner, request, request);
        ReplayServices before = candidate.begin(attempt);
        ReplayStack stack = surroundings.stack();
        try (LackedInput.Run run = candidate.lacked().begin()) {
            HandlerWatch watch = HandlerWatch.begin();
            try {
                exchange.openInterception();
                entry.begin();
                exchange.admit(entry, 1);
                exchange.call(stack);
            } finally {
                watch.leave();
            }
            awaitOutcome(attempt, exchange, request);
            return outcome(
                    call, attempt, request, watch.end().map(RequestRunner::text).or(run::lacked));
        } finally {
            attempt.end();
            candidate.end(attempt, before);
        }
    }

    /** Waits for a deferred response, and abandons it at the limit. */
    private void awaitOutcome(ReplayServices attempt, Exchange exchange, RecordedRequest request) {
        if (attempt.stopped() == null && !request.await(surroundings.settings().limit())) {
            attempt.stop(RunOutcome.failed("no response came within "
                    + surroundings.settings().limit().toMillis() + " ms after its handler returned"));
        }
        exchange.abandon(exchange.sequence()); // unless it has completed; a later response is dropped
    }

    private RunOutcome outcome(
            RecordedCall call, ReplayServices attempt, RecordedRequest request, Optional<String> unrecorded)
            throws RejectedMessageException {
        RunOutcome outcome = request.outcome();
        if (attempt.stopped() != null) { // possibly caused by its input
            release(outcome);
            return unrecorded.<RunOutcome>map(RunOutcome::notReplayable).orElse(attempt.stopped());
        }
        if (outcome instanceof RunOutcome.Responded responded) {
            bind(call, responded.references());
        }
        return outcome.afterReading(unrecorded.orElse("")).afterReading(attempt.elsewhere());
    }

    private static void release(RunOutcome outcome) {
        if (outcome instanceof RunOutcome.Responded responded) {
            responded.response().release();
        }
    }

    private static String text(UnrecordedInput input) {
        return "its handler called " + input.what() + " at " + input.where()
                + ", and what it was told is not on record: what an outbox's clock() and random() give is";
    }

    /** Binds the recorded names of the response's references to the replayed ones. */
    private void bind(RecordedCall call, List<? extends RRef> references) throws RejectedMessageException {
        if (!references.isEmpty() && call.response().isPresent()) {
            candidate.bind(surroundings.records().content(call.response().get()).references(), references);
        }
    }
}
