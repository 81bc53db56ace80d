package io.waybill.replay.run;

import io.waybill.api.Body;
import io.waybill.api.CallException;
import io.waybill.api.Caller;
import io.waybill.api.LateReply;
import io.waybill.api.MessageId;
import io.waybill.api.Outbox;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Rpc;
import io.waybill.api.Tensor;
import io.waybill.api.TensorBuffers;
import io.waybill.api.Value;
import io.waybill.handling.Failure;
import io.waybill.handling.Reply;
import io.waybill.replay.NotRecordedException;
import io.waybill.replay.RecordedCall;
import io.waybill.wire.MalformedRecordException;
import io.waybill.wire.Observations;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.random.RandomGenerator;

/**
 * One run of a recorded request through a handler: what the handler answers through. Calls to others are answered from the record, and go
 * nowhere.
 *
 * <p><b>Threads.</b> The handler's; calls may come from any.
 */
final class Attempt implements Outbox {

    /** Whether the handler may wait for others. */
    enum Waiting {
        ALLOWED,
        /** It said that it does not block. */
        REFUSED
    }

    private final RecordedCall recorded;
    private final Contender contender;
    private final Records records;
    private final TensorBuffers buffers;
    private final Waiting waiting;
    private final Reply reply;
    // Set by whoever finds the first reason, read when the handler is done.
    private final AtomicReference<Outcome.Stopped> stopped = new AtomicReference<>();
    private NestedAnswers nested; // guarded by this; null until a handler calls
    private ObservedAgain observed; // guarded by this; null until a handler observes
    private LateGiven late; // null until the handler wants it
    private volatile boolean over; // set by the thread that runs handlers, read by those that still call

    Attempt(
            RecordedCall recorded,
            Contender contender,
            Records records,
            TensorBuffers buffers,
            Waiting waiting,
            Reply reply) {
        this.recorded = recorded;
        this.contender = contender;
        this.records = records;
        this.buffers = buffers;
        this.waiting = waiting;
        this.reply = reply;
    }

    Contender contender() {
        return contender;
    }

    Records records() {
        return records;
    }

    /** Its result says nothing, and this is why; the first reason counts. */
    void stop(Outcome.Stopped why) {
        stopped.compareAndSet(null, why);
    }

    /** Null when nothing stopped it. */
    Outcome.Stopped stopped() {
        return stopped.get();
    }

    /** Null when the handler answered before it returned, or not at all. */
    LateGiven late() {
        return late;
    }

    /** Nobody calls on its behalf any more. */
    void end() {
        over = true;
    }

    void requireMayBlock() {
        if (waiting == Waiting.REFUSED) {
            throw Failure.mustNotWait();
        }
    }

    /** Calls and waits, which takes no time. */
    Response call(Request request) {
        requireMayBlock();
        NestedCall asked = ask(request);
        if (asked.response().isEmpty()) {
            throw stopWith(Outcome.notReplayable("what its handler was told of call "
                    + MessageId.text(asked.call().id()) + " is not on record: there is no answer to it"));
        }
        return response(asked);
    }

    /**
     * The call on record that a request is.
     *
     * @throws CallException when there is none
     */
    NestedCall ask(Request request) {
        if (over) {
            throw new IllegalStateException("the outbox is dead: its handler has returned");
        }
        for (RRef reference : request.references()) {
            if (!(reference instanceof ReplayedReference)) {
                throw Contender.refused("a reference that travels must be one of this worker's: " + reference);
            }
        }
        try {
            NestedCall asked = nested().take(request);
            contender.bind(asked.request().references(), request.references());
            requireInTime(asked, request.timeoutNs());
            return asked;
        } catch (UnmatchedCallException e) {
            throw stopWith(Outcome.failed(e.getMessage()));
        } catch (NotRecordedException | RejectedMessageException | IOException e) {
            throw stopWith(Outcome.notReplayable(e.getMessage()));
        }
    }

    private void requireInTime(NestedCall asked, long timeoutNs) {
        if (timeoutNs > 0
                && asked.response().isPresent()
                && asked.response().get().sentNs() - asked.request().sentNs() > timeoutNs) {
            throw stopWith(
                    Outcome.notReplayable("call " + MessageId.text(asked.call().id())
                            + " was answered after its timeout of " + timeoutNs / 1_000_000 + " ms"));
        }
    }

    /**
     * What was answered; the caller's.
     *
     * @throws CallException the error that it was answered with
     */
    Response response(NestedCall asked) {
        RecordContent answer = asked.response().orElseThrow();
        if (answer.isError()) {
            throw answer.failure();
        }
        try {
            List<Tensor> tensors = answer.tensorCount() == 0
                    ? List.of()
                    : records.tensors(asked.call().response().orElseThrow());
            return new GivenResponse(
                    answer.type(),
                    answer.id(),
                    answer.from(),
                    answer.payload(),
                    tensors,
                    contender.references(answer.references()));
        } catch (NotRecordedException | IOException e) {
            throw stopWith(Outcome.notReplayable(e.getMessage()));
        }
    }

    private CallException stopWith(Outcome.Stopped why) {
        stop(why);
        return Contender.refused(why.reason());
    }

    private synchronized NestedAnswers nested() throws IOException, RejectedMessageException {
        if (nested == null) {
            nested = new NestedAnswers(records, records.nested(recorded));
        }
        return nested;
    }

    @Override
    public Body reply() {
        return reply.fields();
    }

    @Override
    public void reply(Value value) {
        reply.value(value);
    }

    @Override
    public void reply(ByteBuffer payload) {
        reply.raw(payload, List.of());
    }

    @Override
    public void reply(ByteBuffer payload, List<Tensor> tensors) {
        reply.raw(payload, tensors);
    }

    @Override
    public LateReply later() {
        if (late == null) {
            late = new LateGiven(contender.worker().id());
        }
        return late;
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
        return buffers;
    }

    @Override
    public InstantSource clock() {
        return observed();
    }

    @Override
    public RandomGenerator random() {
        return observed().random();
    }

    /** What was left until the deadline when the handler asked. */
    long leftNs() {
        return observed().leftNs();
    }

    private synchronized ObservedAgain observed() {
        if (observed == null) {
            observed = new ObservedAgain(onRecord(), why -> stop(Outcome.notReplayable(why)));
        }
        return observed;
    }

    private Observations onRecord() {
        try {
            return recorded.response().isEmpty()
                    ? Observations.NONE
                    : records.observations(recorded.response().get());
        } catch (MalformedRecordException e) {
            stop(Outcome.notReplayable("what its handler observed can't be read: " + e.getMessage()));
            return Observations.NONE;
        }
    }
}
