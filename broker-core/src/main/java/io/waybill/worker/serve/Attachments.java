package io.waybill.worker.serve;

import io.waybill.api.RejectedMessageException;
import io.waybill.api.tensor.Tensor;
import io.waybill.tensor.ReceivedTensors;
import io.waybill.wire.RecordView;
import io.waybill.worker.peer.PeerLink;
import java.util.List;
import java.util.function.Consumer;

/**
 * The tensors and references that came with one request. Pooled with the {@link Exchange}.
 *
 * <p><b>Threads.</b> Belongs to the thread that the exchange belongs to.
 */
final class Attachments {

    private final ServingContext context;
    private final Consumer<Throwable> onReleaseFailure;
    private ReceivedTensors tensors; // null without
    private RequestReferences references; // null without

    /** @param onReleaseFailure is given what a storage throws when it is released */
    Attachments(ServingContext context, Consumer<Throwable> onReleaseFailure) {
        this.context = context;
        this.onReleaseFailure = onReleaseFailure;
    }

    /** @param arrived null when the request has no tensors */
    void open(ReceivedTensors arrived) {
        tensors = arrived;
    }

    List<Tensor> tensors() {
        return tensors == null ? List.of() : tensors.tensors();
    }

    /** Whether a converter has to put the tensors on a device before the handler runs. */
    boolean isForDevice() {
        return tensors != null && tensors.isForDevice();
    }

    /** Puts the tensors on their device. Runs a bundle's converter, which may take long. */
    void convert() throws RejectedMessageException {
        tensors.convert();
    }

    /** Whether the caller cut the segment that the tensors are in; what a handler made of them is not to be used then. */
    boolean areCut() {
        if (tensors == null || !tensors.areCut()) {
            return false;
        }
        context.faults().surface();
        return true;
    }

    /**
     * Reads the request's references, which are this worker's from now on.
     *
     * @throws RejectedMessageException when they are malformed, or the request was given up
     */
    void takeReferences(RecordView request, PeerLink from) throws RejectedMessageException {
        references = RequestReferences.take(context.references(), request, from);
    }

    /** The references; null when none were taken. */
    RequestReferences references() {
        return references;
    }

    /** Whether the handler must not begin yet: some owner does not know of its reference. */
    boolean mustWait() {
        return references != null && !references.isReady();
    }

    /** Whether the response names the reference to a value that the request created. */
    boolean creates() {
        return references != null && references.creates();
    }

    /** Gives back what the request leased, because its outcome was given by another thread. */
    void giveUp() {
        if (tensors != null) {
            tensors.release(onReleaseFailure);
        }
        if (references != null) {
            references.release();
        }
    }

    /** Gives back everything. Returns whether the record that the tensors may lie in is free, too. */
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
