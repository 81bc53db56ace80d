package io.waybill.worker.serve;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.RejectedMessageException;
import io.waybill.dispatch.HandlerEntry;
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
    boolean admit(PeerRequest exchange, HandlerEntry entry) {
        try {
            ReceivedTensors tensors = exchange.view().tensorCount() == 0
                    ? null
                    : transit.receiver().arrive(exchange.view(), exchange.link().segments());
            exchange.admit(entry, ++sequence, tensors);
            if (exchange.view().hasReferences() || exchange.view().isCreation()) {
                exchange.takeReferences();
            }
            return true;
        } catch (MalformedRecordException e) {
            exchange.refuseDecoded(ErrorCode.MALFORMED_BODY, e.getMessage());
        } catch (RejectedMessageException e) {
            exchange.refuseDecoded(e.code(), e.getMessage());
        } catch (RuntimeException | Error e) { // it gets an outcome, whatever the cause
            LOG.error(
                    "Request {} could not be begun",
                    MessageId.text(exchange.view().id()),
                    e);
            exchange.refuseDecoded(ErrorCode.UNKNOWN, "the request could not be begun: " + ForeignErrors.describe(e));
        }
        return false;
    }
}
