package io.waybill.worker.serve;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.RejectedMessageException;
import io.waybill.exchange.InnerCreation;
import io.waybill.handling.Failure;
import io.waybill.handling.OutgoingResponse;
import io.waybill.host.failure.ForeignErrors;
import io.waybill.rref.CreationDecision;
import io.waybill.rref.id.ForkData;
import io.waybill.rref.status.Holder;
import io.waybill.wire.RecordView;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.reference.ReceivedReferences;
import io.waybill.worker.reference.ReferenceHandle;
import io.waybill.worker.reference.StoredValue;
import io.waybill.worker.reference.WorkerReferences;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * References of a request that is being served: the references among its arguments, and the reference to the value that
 * it creates.
 *
 * <p>Belongs to the thread that owns the {@link PeerRequest}.
 */
final class RequestReferences implements InnerCreation {

    private final WorkerReferences home;
    private final ReceivedReferences arguments;
    private final ForkData creates; // null when the request creates no value
    private final boolean around; // whether a message inside the request creates it
    private boolean taken; // whether that message took the creation; guarded by this

    private RequestReferences(WorkerReferences home, ReceivedReferences arguments, ForkData creates, boolean around) {
        this.home = home;
        this.arguments = arguments;
        this.creates = creates;
        this.around = around;
    }

    static RequestReferences take(WorkerReferences home, RecordView request, PeerLink link)
            throws RejectedMessageException {
        List<ForkData> table = ReceivedReferences.table(request);
        Holder from = WorkerReferences.sender(link, request.sentNs());
        ForkData creates = null;
        if (request.isCreation()) {
            creates = last(table, home, request);
            table = table.subList(0, table.size() - 1);
            if (home.references().creations().begin(creates.rref(), creates.fork(), from, creates.type())
                    != CreationDecision.RUN) {
                throw new RejectedMessageException(
                        ErrorCode.REFERENCE_DELETED, creates.rref() + " was created or given up before");
            }
        }
        return new RequestReferences(
                home, ReceivedReferences.take(home, table, from), creates, request.isAroundCreation());
    }

    private static ForkData last(List<ForkData> table, WorkerReferences home, RecordView request)
            throws RejectedMessageException {
        if (table.isEmpty() || table.get(table.size() - 1).owner() != request.to()) {
            throw new RejectedMessageException(
                    ErrorCode.MALFORMED_BODY,
                    "a " + request.type() + " names the reference that it creates, owned by worker "
                            + home.references().self().worker() + ", behind its payload, and this one does not");
        }
        return table.get(table.size() - 1);
    }

    /** Releases the references of a request that is rejected before they are taken. */
    static void decline(WorkerReferences home, RecordView request, PeerLink link) {
        if (!request.hasReferences()) {
            return;
        }
        try {
            List<ForkData> table = ReceivedReferences.table(request);
            boolean creates = request.isCreation();
            List<ForkData> arguments = table.subList(0, Math.max(0, creates ? table.size() - 1 : table.size()));
            ReceivedReferences.decline(home, arguments, WorkerReferences.sender(link, request.sentNs()));
        } catch (RejectedMessageException e) {
            home.unreadable(link, e);
        }
    }

    List<ReferenceHandle> held() {
        return arguments.held();
    }

    boolean isReady() {
        return arguments.isReady();
    }

    void whenReady(Consumer<Optional<CallException>> notified) {
        arguments.whenReady(notified);
    }

    void release() {
        arguments.release();
    }

    /** Returns whether the handler's result is the created value. */
    boolean creates() {
        return creates != null && !around;
    }

    /** Returns the creation for a message inside the request, once; null when there is none. */
    synchronized InnerCreation takeCreation() {
        boolean isFirst = creates != null && around && !taken;
        taken |= isFirst;
        return isFirst ? this : null;
    }

    /** Completes the reference of a request that ended, if no message inside it was to create the value. */
    void ended(ErrorCode code, String text) {
        if (takeCreation() != null) {
            createFailed(new Failure(ErrorKind.UNKNOWN_ERROR, code, text));
        }
    }

    @Override
    public void create(OutgoingResponse result) {
        try {
            StoredValue value = home.store(result.array(), result.length(), result.tensors(), result.references());
            home.keeper().finish(creates.rref(), creates.type(), value);
        } catch (CallException e) {
            home.references().creations().finishFailed(creates.rref(), e);
        } catch (Throwable e) { // the boundary around storages, which may be released or foreign code
            createFailed(new Failure(
                    ErrorKind.UNKNOWN_ERROR,
                    ErrorCode.HANDLER_FAILED,
                    "the value can't be stored: " + ForeignErrors.describe(e)));
        }
        nameCreated(result);
    }

    /** Completes the reference with an error instead of a value. */
    @Override
    public void createFailed(Failure failure) {
        if (creates != null) {
            home.references().creations().finishFailed(creates.rref(), failure.toException(MessageId.NONE));
        }
    }

    @Override
    public void nameCreated(OutgoingResponse response) {
        response.value(creates.ids());
    }
}
