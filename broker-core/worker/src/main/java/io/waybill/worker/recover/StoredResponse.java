package io.waybill.worker.recover;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.handling.Failure;
import io.waybill.home.WorkerDirectory;
import io.waybill.tensor.ReceivedTensors;
import io.waybill.tensor.TensorReceiver;
import io.waybill.tensor.segment.PeerSegments;
import io.waybill.wire.MalformedRecordException;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import io.waybill.worker.call.OwnedResponse;
import io.waybill.worker.call.ResponseView;
import io.waybill.worker.reference.ReceivedReferences;
import java.nio.file.Path;

/** Converts responses from a journal to outcomes. Used by one thread. */
final class StoredResponse {

    private final TensorReceiver receiver;

    StoredResponse(TensorReceiver receiver) {
        this.receiver = receiver;
    }

    /** Completes a claim with a record that was read and checked. */
    void complete(OutcomeClaim claim, RecordView record, Path peerDirectory) {
        if (record.type() == MessageType.EXCEPTION) {
            claim.fail(Failure.exceptionOf(record));
            return;
        }
        if (record.hasReferences()) {
            claim.fail(
                    ErrorCode.RESPONSE_GONE, respond(record) + " brought references, which ended with their receiver");
            return;
        }
        try {
            read(claim, copyOf(record), peerDirectory);
        } catch (MalformedRecordException e) {
            claim.fail(ErrorCode.PEER_CORRUPT, respond(record) + " can't be read: " + e.getMessage());
        } catch (RejectedMessageException e) {
            claim.fail(e.code(), respond(record) + " can't be read: " + e.getMessage());
        }
    }

    private static String respond(RecordView record) {
        return "the response to call " + MessageId.text(record.id());
    }

    private void read(OutcomeClaim claim, RecordView record, Path peerDirectory)
            throws MalformedRecordException, RejectedMessageException {
        if (receiver.leases(record)) {
            claim.fail(
                    ErrorCode.RESPONSE_GONE,
                    respond(record) + " brought tensors in a segment, which were lent to the process that had asked");
            return;
        }
        try (PeerSegments none = receiver.peer(record.from(), peerDirectory.resolve(WorkerDirectory.SEGMENTS))) {
            ReceivedTensors tensors = receiver.decode(record, none);
            ResponseView view = new ResponseView();
            view.open(record, tensors.tensors(), ReceivedReferences.none());
            claim.complete(OwnedResponse.keep(view));
            tensors.release();
        }
    }

    /** Copies a record; the tensors stay in the copy. */
    private static RecordView copyOf(RecordView record) {
        int length = record.buffer().length();
        MessageBuffer copy = new MessageBuffer();
        copy.reserve(length);
        copy.memory().putBytes(0, record.buffer().memory(), 0, length);
        return new RecordView(copy);
    }
}
