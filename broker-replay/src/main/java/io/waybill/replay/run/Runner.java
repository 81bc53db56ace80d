package io.waybill.replay.run;

import io.waybill.api.CallException;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Tensor;
import io.waybill.api.ValueEncoder;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.handling.Delivered;
import io.waybill.handling.Failure;
import io.waybill.handling.InboundMessage;
import io.waybill.handling.Reply;
import io.waybill.handling.Route;
import io.waybill.osgi.watch.Bypass;
import io.waybill.osgi.watch.HandlerWatch;
import io.waybill.replay.Answer;
import io.waybill.replay.NotRecordedException;
import io.waybill.replay.RecordedCall;
import io.waybill.rref.FetchRequest;
import io.waybill.rref.ForkData;
import io.waybill.rref.ForkTable;
import io.waybill.rref.RRefId;
import io.waybill.wire.Envelope;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Runs recorded requests through the handlers of one contender, one after the other.
 *
 * <p>Belongs to the thread that runs handlers.
 */
final class Runner {

    private final Contender contender;
    private final Surroundings surroundings;
    private final Set<RRefId> beingMade;
    private final MessageBuffer buffer = new MessageBuffer();
    private final RecordView view = new RecordView(buffer);
    private final InboundMessage message = new InboundMessage(view, this::leftNs);
    private final Reply reply = new Reply();
    private Attempt running; // set before a handler sees the message

    /** What requests are run in. */
    record Surroundings(Records records, Supervision supervision, RunSettings settings) {}

    Runner(Contender contender, Surroundings surroundings) {
        this(contender, surroundings, new HashSet<>());
    }

    private Runner(Contender contender, Surroundings surroundings, Set<RRefId> beingMade) {
        this.contender = contender;
        this.surroundings = surroundings;
        this.beingMade = beingMade;
    }

    /** Whether this thread is the one that runs handlers. */
    boolean isMine() {
        return surroundings.supervision().isMine();
    }

    /** Runs a request. The tensors of an answer are the caller's, who releases each one's storage once. */
    Outcome run(RecordedCall call) {
        byte[] record = call.request().record();
        buffer.reserve(record.length);
        buffer.memory().putBytes(0, record);
        try {
            return view.type() == MessageType.SCRIPT_RREF_FETCH_CALL ? fetched(call) : handled(call);
        } catch (RejectedMessageException e) {
            return Outcome.error(Failure.rejected(contender.worker().id(), e));
        } catch (NotRecordedException e) {
            return Outcome.notReplayable(e.getMessage());
        } catch (IOException e) {
            return Outcome.notReplayable("the recording can't be read: " + e.getMessage());
        }
    }

    private Outcome fetched(RecordedCall call) throws RejectedMessageException, NotRecordedException, IOException {
        OwnValue value = require(FetchRequest.decode(view.payload()).id());
        if (value.failure().isPresent()) {
            CallException why = value.failure().get();
            return Outcome.error(Failure.late(why.code(), why.getMessage()));
        }
        bindAnswer(call, value.references());
        return Outcome.values(Reply.typeFor(view.type()), value.payload(), value.retainTensors(), value.references());
    }

    private Outcome handled(RecordedCall call) throws RejectedMessageException, NotRecordedException, IOException {
        HandlerEntry entry = Route.find(contender.table(), view);
        if (entry == null) {
            return Outcome.failed(contender.missing(Route.key(contender.table(), view)));
        }
        List<ForkData> recorded = view.hasReferences() ? ForkTable.decode(view.copyReferences()) : List.of();
        boolean creates = view.type() == MessageType.SCRIPT_REMOTE_CALL && !recorded.isEmpty();
        List<ForkData> arguments = creates ? recorded.subList(0, recorded.size() - 1) : recorded;
        requireOwn(arguments);
        List<Tensor> tensors =
                view.tensorCount() == 0 ? List.of() : surroundings.records().tensors(call.request());
        try {
            message.open(entry.key(), delivered(call), tensors);
            message.references(contender.references(arguments));
            Outcome outcome = handle(entry, call);
            return creates ? created(recorded.get(recorded.size() - 1), outcome) : outcome;
        } finally {
            message.close();
            reply.reset();
            tensors.forEach(tensor -> tensor.storage().release());
        }
    }

    private static Delivered delivered(RecordedCall call) {
        return call.response()
                        .filter(response -> (response.record()[Envelope.FLAGS] & Envelope.ACROSS_LIVES) != 0)
                        .isPresent()
                ? Delivered.AGAIN
                : Delivered.FIRST;
    }

    /** Makes the values that are among the arguments and were not made yet. */
    private void requireOwn(List<ForkData> arguments) throws NotRecordedException, IOException {
        for (ForkData argument : arguments) {
            if (argument.owner() == contender.worker().id()) {
                require(argument.rref());
            }
        }
    }

    /**
     * A value of this worker's, made now when the request that makes it was not run yet.
     *
     * @throws NotRecordedException when no request on record made it
     */
    OwnValue require(RRefId id) throws NotRecordedException, IOException {
        Optional<OwnValue> value = contender.values().find(id);
        if (value.isPresent()) {
            return value.get();
        }
        Optional<RecordedCall> creation = surroundings.records().creation(id);
        if (creation.isEmpty() || !beingMade.add(id)) {
            throw new NotRecordedException("no request on record made the value of " + id
                    + " on this worker: its program did, or a life whose journals are gone");
        }
        try {
            new Runner(contender, surroundings, beingMade).run(creation.get());
        } finally {
            beingMade.remove(id);
        }
        return contender
                .values()
                .find(id)
                .orElseThrow(() -> new NotRecordedException(
                        "the value of " + id + " could not be made by running the request again that made it"));
    }

    private Outcome handle(HandlerEntry entry, RecordedCall call) throws RejectedMessageException {
        Attempt attempt = new Attempt(
                call,
                contender,
                surroundings.records(),
                surroundings.settings().buffers(),
                entry.nonBlocking() ? Attempt.Waiting.REFUSED : Attempt.Waiting.ALLOWED,
                reply);
        running = attempt;
        Attempt before = contender.begin(attempt);
        try {
            HandlerWatch watch = HandlerWatch.begin();
            Optional<Failure> failure;
            try {
                failure = surroundings.supervision().call(entry, message, attempt);
            } finally {
                watch.leave();
            }
            return outcome(entry, call, attempt, failure, watch);
        } finally {
            attempt.end();
            contender.end(attempt, before);
        }
    }

    private long leftNs(long deadlineNs) {
        return running.leftNs();
    }

    private Outcome outcome(
            HandlerEntry entry, RecordedCall call, Attempt attempt, Optional<Failure> failure, HandlerWatch watch)
            throws RejectedMessageException {
        LateGiven late = attempt.late();
        boolean awaits = late != null && failure.isEmpty() && attempt.stopped() == null;
        if (awaits && !isThere(late)) {
            attempt.stop(Outcome.failed("no answer came within "
                    + surroundings.settings().limit().toMillis() + " ms after its handler returned"));
        }
        Optional<Bypass> bypass = watch.end();
        if (bypass.isPresent()) { // first of all: whatever else is wrong may come of it
            return bypassed(bypass.get());
        }
        if (attempt.stopped() != null) {
            return attempt.stopped();
        }
        Optional<Failure> error = awaits ? late.failure() : failure;
        Reply given = awaits ? late.reply() : reply;
        if (error.isEmpty() && given.isEmpty()) {
            error = Optional.of(Failure.noAnswer(contender.worker().id(), entry));
        }
        return error.isPresent() ? Outcome.error(error.get()) : answered(call, given);
    }

    private static Outcome bypassed(Bypass bypass) {
        return Outcome.notReplayable("its handler called " + bypass.what() + " at " + bypass.where()
                + ", and what it was told is not on record: what an outbox's clock() and random() give is");
    }

    private boolean isThere(LateGiven late) {
        try {
            return late.await(surroundings.settings().limit());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private Outcome answered(RecordedCall call, Reply given) throws RejectedMessageException {
        List<Tensor> tensors = given.tensors().isEmpty() ? List.of() : List.copyOf(given.tensors());
        tensors.forEach(tensor -> tensor.storage().retain());
        List<? extends RRef> references = given.references().isEmpty() ? List.of() : List.copyOf(given.references());
        bindAnswer(call, references);
        byte[] payload = Arrays.copyOf(given.array(), given.length());
        return Outcome.values(Reply.typeFor(view.type()), payload, tensors, references);
    }

    private void bindAnswer(RecordedCall call, List<? extends RRef> references) throws RejectedMessageException {
        if (!references.isEmpty() && call.response().isPresent()) {
            contender.bind(surroundings.records().content(call.response().get()).references(), references);
        }
    }

    /** Keeps what the handler gave as the value that the request asked for. */
    private Outcome created(ForkData creates, Outcome outcome) {
        if (!(outcome instanceof Outcome.Answered answered)) {
            return outcome;
        }
        Answer answer = answered.answer();
        OwnValue value = answer.isError()
                ? OwnValue.failed(
                        new CallException(answer.errorKind(), answer.errorCode(), MessageId.NONE, text(answer)))
                : new OwnValue(answer.payload(), answer.tensors(), answered.references(), Optional.empty());
        contender.values().put(creates.rref(), value);
        byte[] ids = new ValueEncoder().value(creates.ids()).toBytes();
        return Outcome.values(Reply.typeFor(MessageType.SCRIPT_REMOTE_CALL), ids, List.of(), List.of());
    }

    private static String text(Answer answer) {
        return new String(answer.payload(), StandardCharsets.UTF_8);
    }
}
