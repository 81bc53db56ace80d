package io.waybill.cli.dead;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.context.CallContext;
import io.waybill.api.context.ContextLimitException;
import io.waybill.api.tensor.Tensor;
import io.waybill.cli.call.CallResult;
import io.waybill.cli.call.CallingWorker;
import io.waybill.cli.call.FailedCall;
import io.waybill.cli.call.NpyTensors;
import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.Progress;
import io.waybill.cli.command.ScanProgress;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.command.UsageException;
import io.waybill.home.Home;
import io.waybill.home.Peer;
import io.waybill.home.error.NameTakenException;
import io.waybill.host.Host;
import io.waybill.host.failure.CloseSteps;
import io.waybill.journal.Durability;
import io.waybill.query.DepartedWorkers;
import io.waybill.query.StoredCall;
import io.waybill.query.stored.Payload;
import io.waybill.replay.recording.HomeRecording;
import io.waybill.replay.recording.NotRecordedException;
import io.waybill.replay.recording.RecordedCall;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Sends failed calls again, each once. Holds the name {@value DepartedWorkers#RESENDING_WORKER}, which one process of a
 * home can have. The requests in the journal of that name are the record of what was sent: each is on disk before a
 * handler sees it. One thread.
 */
final class Resender implements Closeable {

    /**
     * Choices of the operator for each call.
     *
     * @param timeout of each call; null for the default
     * @param again whether calls are sent that were sent again before
     * @param nested whether calls are sent that handlers made
     */
    record Options(Edits edits, Duration timeout, boolean again, boolean nested) {}

    private final Surroundings surroundings;
    private final CallingWorker caller;
    private final Shelf shelf;
    private final HomeRecording recording;

    private Resender(Surroundings surroundings, CallingWorker caller, Shelf shelf, HomeRecording recording) {
        this.surroundings = surroundings;
        this.caller = caller;
        this.shelf = shelf;
        this.recording = recording;
    }

    /**
     * Takes the name, and reads what was sent before.
     *
     * @throws CommandFailedException while another process has the name
     */
    static Resender join(Home home, Surroundings surroundings) throws IOException, CommandFailedException {
        CallingWorker caller;
        try {
            caller = CallingWorker.joinAs(DepartedWorkers.RESENDING_WORKER, home, Durability.EACH);
        } catch (NameTakenException e) {
            throw new CommandFailedException(
                    "nothing is sent: one command at a time sends calls again in a home, and found the process "
                            + e.pid() + " as " + e.name() + "; repeat this when it has ended",
                    e);
        }
        Shelf shelf = null;
        try { // behind the join: what a command sent that had the name before is in the journal now
            shelf = Shelf.open(home, new ScanProgress(surroundings));
            return new Resender(surroundings, caller, shelf, HomeRecording.open(home.path(), home.host()));
        } catch (IOException | RuntimeException e) {
            CloseSteps steps = new CloseSteps().attempt(caller::close);
            if (shelf != null) {
                steps.attempt(shelf::close);
            }
            steps.suppressIn(e);
            throw e;
        }
    }

    /**
     * Sends a call again, and waits for its outcome.
     *
     * @throws CommandFailedException if it was not sent
     * @throws UsageException if an edited field can't be read any more
     */
    Resent send(long id, Options options) throws IOException, UsageException, CommandFailedException {
        DeadCall dead = shelf.failed(id);
        requireAllowed(dead, options);
        String to = runningCallee(dead);
        RecordedCall recorded = recording
                .call(id)
                .orElseThrow(() -> new CommandFailedException(
                        "expected its request on record, found it removed or damaged; waybill journal verify tells"));
        RecordView record = recorded.request().in(new MessageBuffer());
        requireRepeatable(record, options);
        CallContext context = context(record, dead);
        List<Tensor> tensors = tensors(recorded, dead);
        try (NpyTensors files = new NpyTensors(caller.worker().buffers())) {
            Request request = options.edits.isEmpty()
                    ? Request.raw(to, record.type(), ByteBuffer.wrap(record.copyPayload()), tensors)
                    : Request.invocation(to, record.type(), options.edits.of(decoded(record, tensors), files));
            return call(id, options.timeout == null ? request : request.timeout(options.timeout), context, dead);
        } finally {
            tensors.forEach(tensor -> tensor.storage().release());
        }
    }

    private static void requireAllowed(DeadCall dead, Options options) throws CommandFailedException {
        Optional<StoredCall> repeat = dead.lastRepeat();
        if (repeat.isPresent() && !options.again) {
            String id = MessageId.text(repeat.get().request().id());
            String next =
                    repeat.get().errorCode().isPresent() ? "waybill dead resend " + id : "waybill journal show " + id;
            throw new CommandFailedException("expected a call that was not sent again, found "
                    + DeadCall.text(repeat.get()) + ", which repeats it: " + next + ", or give --again");
        }
        if (dead.isNested() && !options.nested) {
            throw new CommandFailedException("expected a call from outside of a handler, found that the handler of "
                    + MessageId.text(dead.call().request().parent())
                    + " made it; send that one again, or give --nested");
        }
    }

    private String runningCallee(DeadCall dead) throws CommandFailedException {
        String to = shelf.journals().nameOf(dead.call().request().to());
        Optional<Peer> peer = caller.peer(to);
        if (peer.isEmpty() || !peer.get().state().isThere()) {
            String found = peer.map(gone -> gone.state().name().toLowerCase(Locale.ROOT))
                    .orElse("unknown");
            throw new CommandFailedException("expected its callee, worker " + to + ", to run, found it " + found
                    + "; start it: waybill node --name " + to);
        }
        return to;
    }

    private static void requireRepeatable(RecordView record, Options options) throws CommandFailedException {
        MessageType type = record.type();
        int kind = type.code() & ~MessageType.REQUEST_FLAG;
        boolean isOfUser = kind >= MessageType.FIRST_USER_KIND && kind <= MessageType.LAST_USER_KIND;
        boolean isByName = type == MessageType.NAMED_CALL
                || type == MessageType.SCRIPT_CALL
                || type == MessageType.PYTHON_CALL
                || type == MessageType.CONTROL_CALL;
        if (!isByName && !isOfUser) {
            throw new CommandFailedException("expected a call by name or of a type of users, found " + type
                    + ", which only its caller can send");
        }
        if (record.hasReferences()) {
            throw new CommandFailedException(
                    "expected arguments that are values, found remote references, which belong to its caller");
        }
        if (isOfUser && !options.edits.isEmpty()) {
            throw new CommandFailedException(
                    "expected a call by name for --edit, found " + type + ", which has no fields");
        }
    }

    /** Returns the context of the failed call, which names that call now. */
    private static CallContext context(RecordView record, DeadCall dead) throws CommandFailedException {
        try {
            return record.context().with(Repeats.ENTRY, dead.id());
        } catch (ContextLimitException e) {
            throw new CommandFailedException(
                    "expected room for " + Repeats.ENTRY + " in its context, found none: " + e.getMessage(), e);
        }
    }

    private List<Tensor> tensors(RecordedCall recorded, DeadCall dead) throws IOException, CommandFailedException {
        Optional<Payload> described = shelf.journals().payload(dead.call().request());
        List<Tensor> onDevices = described.map(Payload::tensors).orElse(List.of()).stream()
                .filter(tensor -> !tensor.device().isCpu())
                .toList();
        if (!onDevices.isEmpty()) {
            throw new CommandFailedException("expected tensors in host memory, found one for "
                    + onDevices.get(0).device() + "; call it from a program that has this device");
        }
        try {
            return recording.tensors(recorded.request());
        } catch (NotRecordedException e) {
            throw new CommandFailedException("expected its tensors on record: " + e.getMessage(), e);
        }
    }

    private static Invocation decoded(RecordView record, List<Tensor> tensors) throws CommandFailedException {
        try {
            return Invocation.decode(ByteBuffer.wrap(record.copyPayload()), tensors);
        } catch (RejectedMessageException e) {
            throw new CommandFailedException("expected fields to edit: " + e.getMessage(), e);
        }
    }

    private Resent call(long id, Request request, CallContext context, DeadCall dead)
            throws IOException, CommandFailedException {
        Host host = caller.worker().directory().home().host();
        long sinceNs = host.clock().monotonicNs();
        try (Response response = Progress.during(
                surroundings,
                host.threads(),
                () -> "waiting for " + request.to() + " to respond",
                () -> context.supply(() -> caller.call(request)))) {
            shelf.addRepeat(id, response.id());
            return responded(id, response, host.clock().monotonicNs() - sinceNs, request.to());
        } catch (CallException e) {
            String text = new FailedCall(
                            caller,
                            request.to(),
                            request,
                            dead.call().operation().orElse(null),
                            List.of())
                    .explained(e)
                    .getMessage();
            if (!shelf.addRepeat(id, e.messageId())) {
                throw new CommandFailedException(text, e);
            }
            long tookNs = host.clock().monotonicNs() - sinceNs;
            return new Resent(id, e.messageId(), tookNs, Optional.of(e.code()), text);
        }
    }

    /** Returns the outcome of a response, which may be the exception of a Python function. */
    private static Resent responded(long id, Response response, long tookNs, String to) {
        try {
            CallResult.of(response, tookNs, to);
            return new Resent(id, response.id(), tookNs, Optional.empty(), "");
        } catch (CommandFailedException e) {
            return new Resent(id, response.id(), tookNs, Optional.of(ErrorCode.HANDLER_FAILED), e.getMessage());
        }
    }

    @Override
    public void close() throws IOException {
        new CloseSteps()
                .attempt(recording::close)
                .attempt(shelf::close)
                .attempt(caller::close)
                .finish();
    }
}
