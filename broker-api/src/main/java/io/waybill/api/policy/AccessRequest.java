package io.waybill.api.policy;

import io.waybill.api.MessageType;
import java.util.Objects;

/**
 * Request about which an {@link AccessPolicy} decides: caller, type and operation. Immutable.
 *
 * @param worker id of the calling worker
 * @param workerName its name
 * @param uid user id of the calling worker: the owner of the files that the request was read from, as the kernel
 *     reports it
 * @param type type of the message
 * @param operation operation of a call by name, function or operator of a script call, and the type's name otherwise
 * @param id id of the message
 * @param isOwn whether the worker calls itself
 */
public record AccessRequest(
        int worker, String workerName, long uid, MessageType type, String operation, long id, boolean isOwn) {
    public AccessRequest {
        Objects.requireNonNull(workerName);
        Objects.requireNonNull(type);
        Objects.requireNonNull(operation);
    }
}
