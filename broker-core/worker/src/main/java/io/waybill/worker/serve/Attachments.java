package io.waybill.worker.serve;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.tensor.Tensor;
import io.waybill.exchange.InnerCreation;
import io.waybill.handling.Failure;
import io.waybill.tensor.ReceivedTensors;
import io.waybill.wire.RecordView;
import io.waybill.worker.peer.PeerLink;
import java.util.List;
import java.util.function.Consumer;

/**
 * Tensors and references of one request. Pooled with the {@link PeerRequest}.
 *
 * <p><b>Threads.</b> Belongs to the thread that the exchange belongs to.
 */
final class Attachments {

    private final ServingContext context;
    private final Consumer<Throwable> onReleaseFailure;
    private ReceivedTensors tensors; // null without tensors
    private RequestReferences references; // null without references

    /**
     * Creates an empty object.
     *
     * @param onReleaseFailure called with an exception that a storage throws when it is released
     */
    Attachments(ServingContext context, Consumer<Throwable> onReleaseFailure) {
        this.context = context;
        this.onReleaseFailure = onReleaseFailure;
    }

    /**
     * Opens the tensors of a request.
     *
     * @param arrived null when the request has no tensors
     */
    void open(ReceivedTensors arrived) {
        tensors = arrived;
    }

    List<Tensor> tensors() {
        return tensors == null ? List.of() : tensors.tensors();
    }

    /** Returns whether a converter has to copy the tensors to a device before the handler runs. */
    boolean isForDevice() {
        return tensors != null && tensors.isForDevice();
    }

    /** Copies the tensors to their device. Runs a bundle's converter, which may be slow. */
    void convert() throws RejectedMessageException {
        tensors.convert();
    }

    /**
     * Returns whether the caller truncated the segment of the tensors; a handler's result from them must not be used
     * then.
     */
    boolean areCut() {
        if (tensors == null || !tensors.areCut()) {
            return false;
        }
        context.faults().surface();
        return true;
    }

    /** Returns the failure of a request whose tensors are cut. */
    Failure damage(PeerLink from) {
        String text = "the segment of worker " + from
                + " that the request's tensors lie in was cut short while they were in use";
        return Failure.of(ErrorCode.PEER_CORRUPT, context.exchanges().workerId(), text);
    }

    /** Returns the creation for a message inside the request, once; null when there is none. */
    InnerCreation takeCreation() {
        return references == null ? null : references.takeCreation();
    }

    /**
     * Takes the request's references.
     *
     * @throws RejectedMessageException when they are malformed, or the request was abandoned
     */
    void takeReferences(RecordView request, PeerLink from) throws RejectedMessageException {
        references = RequestReferences.take(context.references(), request, from);
    }

    /** Returns the references; null when none were taken. */
    RequestReferences references() {
        return references;
    }

    /** Returns whether the handler must not begin yet: an owner does not know of its reference. */
    boolean mustWait() {
        return references != null && !references.isReady();
    }

    /** Returns whether the response names the reference to a value that the request created. */
    boolean creates() {
        return references != null && references.creates();
    }

    /**
     * Releases the leases of the request after another thread completed it. By that thread, or the thread of a deferred
     * response, or both.
     */
    synchronized void giveUp() {
        if (tensors != null) {
            tensors.release(onReleaseFailure);
        }
        if (references != null) {
            references.release();
        }
    }

    /** Releases everything. Returns whether the record, which may contain the tensors, can be reused. */
    boolean close() {
        boolean free = tensors == null || tensors.release(onReleaseFailure) == ReceivedTensors.RecordCopy.FREE;
        tensors = null;
        if (references != null) {
            references.release();
            references = null;
        }
        return free;
    }
}
