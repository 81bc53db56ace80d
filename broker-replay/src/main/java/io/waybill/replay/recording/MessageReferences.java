package io.waybill.replay.recording;

import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.rref.id.FetchRequest;
import io.waybill.rref.id.ForkData;
import io.waybill.rref.id.ForkTable;
import io.waybill.rref.id.RRefId;
import io.waybill.wire.RecordView;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Finds the references in a request to values that requests create. Stateless. An undecodable request has no
 * references.
 */
public final class MessageReferences {

    private MessageReferences() {}

    /** Returns the reference to the value that a request creates. */
    public static Optional<RRefId> created(RecordView request) {
        List<ForkData> table = table(request);
        return request.isCreation() && !table.isEmpty()
                ? Optional.of(table.get(table.size() - 1).rref())
                : Optional.empty();
    }

    /** Returns the references to values that a request needs: its arguments, or the value that it fetches. */
    public static List<RRefId> needed(RecordView request) {
        if (request.type() == MessageType.SCRIPT_RREF_FETCH_CALL) {
            return fetched(request);
        }
        List<RRefId> needed = new ArrayList<>();
        table(request).forEach(fork -> needed.add(fork.rref()));
        if (request.isCreation() && !needed.isEmpty()) {
            needed.remove(needed.size() - 1);
        }
        return needed;
    }

    private static List<ForkData> table(RecordView request) {
        try {
            return request.hasReferences() ? ForkTable.decode(request.copyReferences()) : List.of();
        } catch (RejectedMessageException e) { // its receiver refused it for the same reason
            return List.of();
        }
    }

    private static List<RRefId> fetched(RecordView request) {
        try {
            return List.of(FetchRequest.decode(request.payload()).id());
        } catch (RejectedMessageException e) { // its receiver refused it for the same reason
            return List.of();
        }
    }
}
