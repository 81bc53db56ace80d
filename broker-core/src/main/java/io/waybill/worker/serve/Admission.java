package io.waybill.worker.serve;

import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.host.failure.ForeignErrors;
import io.waybill.tensor.ReceivedTensors;
import io.waybill.wire.MalformedRecordException;
import io.waybill.worker.peer.TensorTransit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Admits requests to their handlers: opens what came with them, and numbers them.
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

    /** Whether the request's tensors could be had; its caller has an error otherwise. */
    boolean admit(Exchange exchange, HandlerEntry entry) {
        try {
            ReceivedTensors tensors = exchange.view().tensorCount() == 0
                    ? null
                    : transit.receiver().arrive(exchange.view(), exchange.link().segments());
            exchange.admit(entry, ++sequence, tensors);
            if (exchange.view().hasReferences() || exchange.view().type() == MessageType.SCRIPT_REMOTE_CALL) {
                exchange.takeReferences();
            }
            return true;
        } catch (MalformedRecordException e) {
            exchange.refuseDecoded(ErrorKind.UNKNOWN_ERROR, ErrorCode.MALFORMED_BODY, e.getMessage());
        } catch (RejectedMessageException e) {
            exchange.refuseDecoded(ErrorKind.UNKNOWN_ERROR, e.code(), e.getMessage());
        } catch (RuntimeException | Error e) { // it has its outcome, whatever the fault is of
            LOG.error(
                    "Request {} could not be begun",
                    MessageId.text(exchange.view().id()),
                    e);
            exchange.refuseDecoded(
                    ErrorKind.UNKNOWN_ERROR,
                    ErrorCode.UNKNOWN,
                    "the request could not be begun: " + ForeignErrors.describe(e));
        }
        return false;
    }
}
