package io.waybill.worker.serve;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.RejectedMessageException;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.handling.Failure;
import io.waybill.host.failure.ForeignErrors;
import io.waybill.tensor.ReceivedTensors;
import io.waybill.wire.MalformedRecordException;
import io.waybill.worker.peer.TensorTransit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Admits requests to their handlers: decodes their tensors and references, and numbers them.
 *
 * <p><b>Threads.</b> Belongs to the holder of the poll permit.
 */
final class Admission {

    private static final Logger LOG = LoggerFactory.getLogger(Admission.class);

    private final TensorTransit transit;
    private long sequence;

    Admission(TensorTransit transit) {
        this.transit = transit;
    }

    /** Admits a request. Returns whether its tensors could be opened; otherwise its caller gets an error. */
    boolean admit(PeerRequest request, HandlerEntry entry) {
        try {
            ReceivedTensors tensors = request.view().tensorCount() == 0
                    ? null
                    : transit.receiver().arrive(request.view(), request.link().segments());
            request.admit(entry, ++sequence, tensors);
            if (request.view().hasReferences() || request.view().isCreation()) {
                request.takeReferences();
            }
            return true;
        } catch (MalformedRecordException e) {
            refuse(request, ErrorCode.MALFORMED_BODY, e.getMessage());
        } catch (RejectedMessageException e) {
            refuse(request, e.code(), e.getMessage());
        } catch (RuntimeException | Error e) { // it gets an outcome, whatever the cause
            LOG.error(
                    "Request {} could not be begun",
                    MessageId.text(request.view().id()),
                    e);
            refuse(request, ErrorCode.UNKNOWN, "the request could not be begun: " + ForeignErrors.describe(e));
        }
        return false;
    }

    private static void refuse(PeerRequest request, ErrorCode code, String text) {
        request.response().refuseDecoded(Failure.of(code, request.view().to(), text));
    }
}
