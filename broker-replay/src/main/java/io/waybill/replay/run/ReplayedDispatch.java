package io.waybill.replay.run;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Response;
import io.waybill.api.context.ContextScope;
import io.waybill.api.context.ThreadContext;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.handling.Delivered;
import io.waybill.handling.DispatchException;
import io.waybill.handling.DispatchedResponse;
import io.waybill.handling.Failure;
import io.waybill.handling.HandlerInterception;
import io.waybill.handling.InboundMessage;
import io.waybill.handling.InnerMessage;
import io.waybill.handling.InnerOutbox;
import io.waybill.handling.OutgoingResponse;
import io.waybill.handling.Route;
import io.waybill.rref.id.FetchRequest;
import io.waybill.rref.id.ForkData;
import io.waybill.wire.RecordView;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * Messages that a handler dispatches in a replay: their handlers run again, on the thread of the one that dispatches them.
 *
 * <p><b>Threads.</b> The handler's.
 */
final class ReplayedDispatch {

    private final ReplayCandidate candidate;
    private final RequestRunner.Surroundings surroundings;
    private final RecordView request;
    private final ReplayOutbox run;
    private ForkData created; // null when no message inside the request creates a value, or one has

    /**
     * Creates the messages inside one request.
     *
     * @param request the record that is run
     */
    ReplayedDispatch(
            ReplayCandidate candidate, RequestRunner.Surroundings surroundings, RecordView request, ReplayOutbox run) {
        this.candidate = candidate;
        this.surroundings = surroundings;
        this.request = request;
        this.run = run;
    }

    void creates(ForkData inside) {
        created = inside;
    }

    Response dispatch(
            Outbox outer, MessageType type, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        RunOutbox within = outer instanceof RunOutbox inner ? inner : null;
        String path = (within == null ? request.type().name() : within.path) + " > " + type;
        int depth = within == null ? 1 : within.depth + 1;
        if (depth > Outbox.MAX_DEPTH) {
            throw failed(Failure.tooDeep(candidate.worker().id(), path));
        }
        InnerMessage inner = new InnerMessage(deadlineNs -> run.leftNs());
        inner.open(request, type, payload, tensors, references);
        ThreadContext thread = ThreadContext.own();
        ContextScope outside = thread.mark(); // what is current here is current for the inner handler
        try {
            return type == MessageType.SCRIPT_RREF_FETCH_CALL
                    ? fetch(inner)
                    : handle(new RunOutbox(outer, path, depth), inner);
        } finally {
            thread.leave(outside);
            inner.close();
        }
    }

    CompletableFuture<Response> dispatchAsync(
            Outbox outer, MessageType type, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
        try {
            return CompletableFuture.completedFuture(dispatch(outer, type, payload, tensors, references));
        } catch (CallException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private Response fetch(InnerMessage inner) {
        try {
            return candidate.read(FetchRequest.decode(inner.view().payload()).id());
        } catch (RejectedMessageException e) {
            throw failed(Failure.rejected(candidate.worker().id(), e));
        }
    }

    private Response handle(RunOutbox outbox, InnerMessage inner) {
        RecordView view = inner.view();
        HandlerEntry entry = Route.find(candidate.table(), view);
        if (entry == null) {
            run.stop(RunOutcome.failed(candidate.missing(Route.key(candidate.table(), view))));
            throw failed(
                    Failure.unknown(candidate.worker().id(), Route.key(candidate.table(), view), candidate.table()));
        }
        ForkData creates = null;
        if (view.type().isCreating()) {
            creates = created;
            created = null;
            if (creates == null) {
                String text = "the message that it was inside of has no reference to the value that it creates";
                throw failed(new Failure(
                        ErrorKind.UNKNOWN_ERROR,
                        ErrorCode.MALFORMED_BODY,
                        Failure.nodeError(candidate.worker().id(), text)));
            }
        }
        OutgoingResponse composed = outbox.composed();
        InboundMessage message = inner.openFor(entry.key(), Delivered.FIRST);
        HandlerInterception interception = candidate.newInterception();
        interception.open(view, false);
        ReplayedLateResponse late = null;
        boolean mayOuterBlock = run.mayBlock(!entry.neverBlocks());
        try {
            Optional<Failure> failure = surroundings.supervision().call(entry, interception, message, outbox);
            late = failure.isEmpty() ? outbox.late : null;
            OutgoingResponse given = composed;
            if (late != null) {
                failure = outcome(late, interception);
                given = late.response();
            }
            if (failure.isEmpty() && given.isEmpty()) {
                failure = Optional.of(Failure.noResponse(candidate.worker().id(), entry));
            }
            if (creates != null) {
                keep(creates, given, failure);
                composed.value(creates.ids());
                return DispatchedResponse.take(
                        inner, composed, candidate.worker().id());
            }
            if (failure.isPresent()) {
                throw failed(failure.get());
            }
            return DispatchedResponse.take(inner, given, candidate.worker().id());
        } finally {
            run.mayBlock(mayOuterBlock);
            interception.end();
            composed.reset();
            if (late != null) {
                late.response().reset();
            }
        }
    }

    /** Stores the outcome as the created value. */
    private void keep(ForkData creates, OutgoingResponse given, Optional<Failure> failure) {
        if (failure.isPresent()) {
            CallException why = failure.get().toException(MessageId.NONE);
            candidate.values().put(creates.rref(), ReplayedValue.failed(why));
            return;
        }
        List<Tensor> tensors = List.copyOf(given.tensors());
        tensors.forEach(tensor -> tensor.storage().retain());
        byte[] payload = Arrays.copyOf(given.array(), given.length());
        candidate
                .values()
                .put(
                        creates.rref(),
                        new ReplayedValue(payload, tensors, List.copyOf(given.references()), Optional.empty()));
    }

    private Optional<Failure> outcome(ReplayedLateResponse late, HandlerInterception interception) {
        long limitMs = surroundings.settings().limit().toMillis();
        if (!late.await(surroundings.settings().limit())) {
            String text = "no response came within " + limitMs
                    + " ms after a handler that it dispatched a message to returned";
            run.stop(RunOutcome.failed(text));
            throw ReplayCandidate.refused(text);
        }
        return surroundings.supervision().after(interception, late.response(), late.failure());
    }

    private DispatchException failed(Failure failure) {
        return new DispatchException(failure, request.id());
    }

    /** Outbox of a handler that a message was dispatched to. */
    private final class RunOutbox extends InnerOutbox {

        private final Outbox outer;
        private final String path; // the types of the messages that this one is inside of, and its own
        private final int depth;
        private ReplayedLateResponse late; // null until first use

        RunOutbox(Outbox outer, String path, int depth) {
            super(new OutgoingResponse());
            this.outer = outer;
            this.path = path;
            this.depth = depth;
        }

        @Override
        protected Outbox outer() {
            return outer;
        }

        @Override
        protected void requireInHandler() {
            // a replay does not reuse outboxes
        }

        @Override
        public boolean isDeferred() {
            return late != null;
        }

        @Override
        public LateResponse later() {
            if (late == null) {
                late = new ReplayedLateResponse(candidate.worker().id());
            }
            return late;
        }

        @Override
        public Response dispatch(
                MessageType type, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
            return ReplayedDispatch.this.dispatch(this, type, payload, tensors, references);
        }

        @Override
        public CompletableFuture<Response> dispatchAsync(
                MessageType type, ByteBuffer payload, List<Tensor> tensors, List<? extends RRef> references) {
            return ReplayedDispatch.this.dispatchAsync(this, type, payload, tensors, references);
        }
    }
}
