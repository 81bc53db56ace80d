package io.waybill.rref.id;

import io.waybill.api.MessageId;
import io.waybill.api.WorkerInfo;

/** Bounds and PyTorch's text form, shared by {@link RRefId} and {@link ForkId}. */
final class UniqueId {

    private UniqueId() {}

    static void check(int createdOn, long localId) {
        if (createdOn < 0 || createdOn > WorkerInfo.MAX_ID) {
            throw new IllegalArgumentException(
                    "created_on must be a worker id, 0.." + WorkerInfo.MAX_ID + ": " + createdOn);
        }
        if (localId < 0 || localId > MessageId.MAX_COUNTER) {
            throw new IllegalArgumentException("local_id must be 0.." + MessageId.MAX_COUNTER + ": " + localId);
        }
    }

    static String text(int createdOn, long localId) {
        return "GloballyUniqueId(created_on=" + createdOn + ", local_id=" + localId + ")";
    }
}
