package io.waybill.replay.run;

import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.WorkerInfo;
import io.waybill.api.context.CallContext;
import io.waybill.api.tensor.Tensor;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.query.stored.Payload;
import io.waybill.replay.compare.ComparedResponse;
import io.waybill.replay.compare.ContentComparison;
import io.waybill.replay.compare.ResponseComparison;
import io.waybill.replay.recording.NotRecordedException;
import io.waybill.tensor.DeviceTensors;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * Matcher of the recorded nested calls of one request's handler, each of which matches once. A call must match the next
 * recorded one, or one that was sent before the response of the next one.
 *
 * <p><b>Threads.</b> Any.
 */
final class NestedCallMatcher {

    private static final ResponseComparison EXACT = ContentComparison.exact();

    private final RecordingAccess records;
    private final TensorBuffers buffers;
    private final DeviceTensors devices;
    private final List<NestedCall> unasked; // not matched yet; guarded by this

    NestedCallMatcher(RequestRunner.Surroundings surroundings, DeviceTensors devices, List<NestedCall> nested) {
        this.records = surroundings.records();
        this.buffers = surroundings.settings().buffers();
        this.devices = devices;
        this.unasked = new ArrayList<>(nested);
    }

    /**
     * Returns the recorded call that equals a request.
     *
     * @param context context of the request; its values are compared, its trace is not
     * @throws UnmatchedCallException if there is none; the text names the request and the recorded calls
     * @throws NotRecordedException if the tensors of the recorded call were not kept
     */
    synchronized NestedCall take(Request request, CallContext context)
            throws UnmatchedCallException, NotRecordedException, IOException {
        Optional<WorkerInfo> to = records.worker(request.to());
        String difference = "";
        for (int i = 0; i < unasked.size(); i++) {
            NestedCall candidate = unasked.get(i);
            if (i > 0 && !unasked.get(0).overlaps(candidate)) {
                break;
            }
            String found = difference(candidate, to, request, context);
            if (found.isEmpty()) {
                return unasked.remove(i);
            }
            difference = i == 0 ? found : difference;
        }
        throw new UnmatchedCallException(asked(to, request) + ", which is not on record: " + expected(difference));
    }

    /** Signals that a handler makes a call that is not recorded. The message names it, and the recorded ones. */
    static final class UnmatchedCallException extends Exception {

        private static final long serialVersionUID = 1L;

        UnmatchedCallException(String message) {
            super(message);
        }
    }

    private String expected(String difference) {
        if (unasked.isEmpty()) {
            return "its handler made no further call then";
        }
        RecordContent next = unasked.get(0).request();
        return "its next call then, " + MessageId.text(next.id()) + ", " + difference;
    }

    private String asked(Optional<WorkerInfo> to, Request request) {
        return "it asked " + to.map(info -> records.describe(info.id())).orElse("a worker \"" + request.to() + "\"")
                + " for " + operation(request) + " with " + request.payloadLength() + " bytes";
    }

    private static String operation(Request request) {
        ByteBuffer payload = ByteBuffer.wrap(request.payloadArray(), 0, request.payloadLength());
        return Payload.operationOf(request.type(), payload)
                .orElse(request.type().name());
    }

    /** Describes the difference of a request from a recorded call; empty if they are equal. */
    private String difference(NestedCall candidate, Optional<WorkerInfo> to, Request request, CallContext context)
            throws NotRecordedException, IOException {
        RecordContent recorded = candidate.request();
        if (to.isEmpty() || to.get().id() != recorded.to()) {
            return "went to " + records.describe(recorded.to());
        }
        String name = operation(request);
        if (request.type() != recorded.type() || !name.equals(recorded.operation())) {
            return "was for " + recorded.operation();
        }
        int length = request.payloadLength();
        int at = Arrays.mismatch(request.payloadArray(), 0, length, recorded.payload(), 0, recorded.payload().length);
        if (at >= 0) {
            return "had " + recorded.payload().length + " bytes, which are others from byte " + at + " on";
        }
        if (!recorded.context().hasValuesOf(context)) {
            return "had another context: recorded " + recorded.context().names() + ", replayed " + context.names();
        }
        return tensorDifference(candidate, request.tensors());
    }

    private String tensorDifference(NestedCall candidate, List<Tensor> asked) throws NotRecordedException, IOException {
        if (asked.isEmpty() && candidate.request().tensorCount() == 0) {
            return "";
        }
        List<Tensor> recorded = records.tensors(candidate.call().request());
        List<Tensor> onHost = asked;
        asked.forEach(tensor -> tensor.storage().retain());
        try {
            onHost = devices.onHost(asked, buffers);
            return EXACT.firstDifference(holding(recorded), holding(onHost))
                    .map(difference -> "had other tensors: " + difference)
                    .orElse("");
        } catch (RejectedMessageException e) {
            return "had tensors that can't be read now: " + e.getMessage();
        } finally {
            recorded.forEach(tensor -> tensor.storage().release());
            onHost.forEach(tensor -> tensor.storage().release());
        }
    }

    private static ComparedResponse holding(List<Tensor> tensors) {
        return new ComparedResponse(
                MessageType.UNKNOWN, new byte[0], tensors, ErrorKind.UNKNOWN_ERROR, ErrorCode.UNKNOWN);
    }
}
