package io.waybill.replay.run;

import io.waybill.api.MessageId;
import io.waybill.api.RRef;
import io.waybill.api.context.CallContext;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.exchange.HandlerServices;
import io.waybill.exchange.InnerCreation;
import io.waybill.exchange.RequestSource;
import io.waybill.exchange.ResponseSink;
import io.waybill.handling.Delivered;
import io.waybill.handling.Failure;
import io.waybill.handling.InboundMessage;
import io.waybill.handling.OutgoingResponse;
import io.waybill.host.failure.ForeignErrors;
import io.waybill.rref.id.ForkData;
import io.waybill.wire.RecordView;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * A recorded request that runs again, with its new outcome. Used once.
 *
 * <p><b>Threads.</b> The thread that runs handlers; any thread may set the outcome.
 */
final class RecordedRequest implements RequestSource, ResponseSink, InnerCreation {

    private final RecordView view;
    private final InboundMessage message;
    private final Delivered delivered;
    private final ReplayServices services;
    private final ReplayCandidate candidate;
    private final ForkData created; // null if the request creates no value
    private boolean isCreationTaken; // true if an inner message creates it
    private final CountDownLatch arrived = new CountDownLatch(1);
    private RunOutcome outcome; // written before the arrival is signalled

    /**
     * Creates a request.
     *
     * @param message message for the handler, with the tensors and references
     * @param created null if it creates no value
     */
    RecordedRequest(
            ReplayServices services, RecordView view, InboundMessage message, Delivered delivered, ForkData created) {
        this.services = services;
        this.candidate = services.candidate();
        this.view = view;
        this.message = message;
        this.delivered = delivered;
        this.created = created;
    }

    /**
     * Waits for the outcome.
     *
     * @param limit zero for none
     * @return whether the outcome arrived; false also if the thread was interrupted
     */
    boolean await(Duration limit) {
        try {
            if (limit.isZero()) {
                arrived.await();
                return true;
            }
            return arrived.await(limit.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /** Returns the outcome; valid after its arrival. Its tensors have their own counts. */
    RunOutcome outcome() {
        return outcome;
    }

    // ---- ResponseSink

    @Override
    public boolean respond(OutgoingResponse composed, Failure failed, boolean returned) {
        try {
            OutgoingResponse response = composed;
            Failure why = failed;
            if (created != null && !view.isAroundCreation() && services.stopped() == null) {
                response = ended(composed, failed);
                why = null;
            }
            outcome = why == null ? values(response) : RunOutcome.error(why);
        } catch (RuntimeException | Error e) { // the boundary around what is foreign and no handler, such as storages
            outcome = RunOutcome.failed("its run ended early: " + ForeignErrors.describe(e));
        } finally {
            arrived.countDown();
        }
        return failed == null;
    }

    private RunOutcome values(OutgoingResponse given) {
        List<Tensor> tensors = copyOf(given.tensors());
        tensors.forEach(tensor -> tensor.storage().retain());
        byte[] payload = Arrays.copyOf(given.array(), given.length());
        return RunOutcome.values(OutgoingResponse.typeFor(view.type()), payload, tensors, copyOf(given.references()));
    }

    private static <T> List<T> copyOf(List<T> all) {
        return all.isEmpty() ? List.of() : List.copyOf(all);
    }

    @Override
    public void ended(boolean reusable, boolean returned) {
        // the runner owns the outcome and its tensors
    }

    @Override
    public void detached() {
        // as above
    }

    // ---- RequestSource

    @Override
    public RecordView view() {
        return view;
    }

    @Override
    public long id() {
        return view.id();
    }

    /** Returns no recorded deadline, because its clock has advanced since. */
    @Override
    public long deadlineNs() {
        return 0;
    }

    @Override
    public boolean isNested() {
        return view.parent() != MessageId.NONE;
    }

    @Override
    public Delivered delivered() {
        return delivered;
    }

    @Override
    public CallContext context() {
        return view.context();
    }

    @Override
    public HandlerServices services() {
        return services;
    }

    @Override
    public InboundMessage open(HandlerEntry by) {
        return message;
    }

    @Override
    public void giveUp() {
        // the runner releases its tensors
    }

    @Override
    public boolean release() {
        return false;
    }

    @Override
    public String senderName() {
        return services.senderName();
    }

    @Override
    public boolean isFromSelf() {
        return view.from() == view.to();
    }

    @Override
    public InnerCreation takeCreation() {
        boolean isFirst = created != null && view.isAroundCreation() && !isCreationTaken;
        isCreationTaken |= isFirst;
        return isFirst ? this : null;
    }

    @Override
    public String toString() {
        return "request " + MessageId.text(view.id()) + " on record";
    }

    // ---- InnerCreation

    @Override
    public void create(OutgoingResponse result) {
        List<Tensor> tensors = copyOf(result.tensors());
        tensors.forEach(tensor -> tensor.storage().retain());
        List<? extends RRef> references = copyOf(result.references());
        byte[] payload = Arrays.copyOf(result.array(), result.length());
        candidate.values().put(created.rref(), new ReplayedValue(payload, tensors, references, Optional.empty()));
        nameCreated(result);
    }

    @Override
    public void createFailed(Failure failure) {
        candidate.values().put(created.rref(), ReplayedValue.failed(failure.toException(MessageId.NONE)));
    }

    @Override
    public void nameCreated(OutgoingResponse response) {
        response.value(created.ids());
    }
}
