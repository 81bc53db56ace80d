package io.waybill.worker.call;

import io.waybill.api.ErrorCode;
import io.waybill.api.Request;
import io.waybill.api.context.CallContext;
import io.waybill.dispatch.KeySet;
import io.waybill.handling.Route;
import io.waybill.tensor.Plan;
import io.waybill.wire.Envelope;
import io.waybill.wire.MessageBuffer;
import io.waybill.worker.peer.CallErrors;
import io.waybill.worker.peer.FlowLimits;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.reference.SentReferences;
import java.time.Duration;

/**
 * Settings of the calls that a worker makes.
 *
 * @param defaultTimeout for calls without a timeout; {@link Duration#ZERO} for none
 * @param limits of calls and bytes in flight
 * @param maxRecordBytes max size of a record, without its tensors
 * @param acrossIncarnations whether a later incarnation of the receiver may complete a call
 */
public record CallSettings(Duration defaultTimeout, FlowLimits limits, int maxRecordBytes, boolean acrossIncarnations) {

    /** Returns the timeout of a request; {@link Request#NO_TIMEOUT} for none. */
    long timeoutNs(Request request) {
        return request.timeoutNs() == Request.DEFAULT_TIMEOUT ? defaultTimeout.toNanos() : request.timeoutNs();
    }

    /** Returns a positive deadline, because 0 stands for none: in the past when the timeout is negative. */
    static long deadlineNs(long nowNs, long timeoutNs) {
        if (timeoutNs == Request.NO_TIMEOUT) {
            return 0;
        }
        long sum = nowNs + timeoutNs;
        return timeoutNs > 0 && sum < nowNs ? Long.MAX_VALUE : Math.max(1, sum);
    }

    /**
     * Returns the call's flags. A request that another incarnation of the peer may run must contain everything in its
     * record.
     */
    int flags(Request request, Plan plan, SentReferences sharing, PeerLink link) {
        if (sharing != null || plan != null && plan.leases()) {
            return 0;
        }
        KeySet again = link.again();
        boolean isAcross = again != null
                && acrossIncarnations
                && again.takes(request.type(), request.payloadArray(), request.payloadLength());
        return (isAcross ? Envelope.ACROSS_INCARNATIONS : 0)
                | (Route.mayBeLeft(request.type().code()) ? PendingCalls.MAY_BE_LEFT : 0);
    }

    /** Returns the length of the record of a call; throws when it is too large. */
    int length(Request request, Plan plan, SentReferences sharing, CallContext context) {
        int payloadLength = payloadLength(request, sharing, context);
        long length = Envelope.recordLength(payloadLength, plan == null ? 0 : plan.sectionLength(payloadLength));
        if (length > maxRecordBytes) {
            throw CallErrors.refused(
                    ErrorCode.TOO_LARGE,
                    "a message has at most " + maxRecordBytes + " bytes beside its tensors, and this one " + length);
        }
        return (int) length;
    }

    /** Returns the length of the payload, with the context and the references after it. */
    static int payloadLength(Request request, SentReferences sharing, CallContext context) {
        return request.payloadLength()
                + MessageBuffer.contextLength(context)
                + (sharing == null ? 0 : sharing.length());
    }
}
