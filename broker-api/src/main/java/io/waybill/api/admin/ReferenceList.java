package io.waybill.api.admin;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Response;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The remote references of a worker, at one moment. Immutable.
 *
 * @param leftOut number of references beyond the limit that was asked for
 * @param counters PyTorch's debug counters of references, such as {@code num_owner_rrefs}
 */
public record ReferenceList(List<ReferenceInfo> references, long leftOut, Map<String, Long> counters) {

    public ReferenceList {
        references = List.copyOf(references);
        counters = Collections.unmodifiableMap(new LinkedHashMap<>(counters)); // in their order
    }

    /**
     * Reads the response to {@link Admin#referencesAsync}, which the caller closes.
     *
     * @throws CallException with {@link ErrorCode#MALFORMED_BODY} if it is none
     */
    public static ReferenceList of(Response response) {
        return response.record(ReferenceList.class);
    }

    /**
     * Role of the worker for one fork.
     *
     * @param part {@code owns}, {@code holds} or {@code passes}
     * @param rref id of the reference, such as {@code 3.1041}: the worker that created it, and its counter
     * @param fork id of the fork
     * @param peer id of the worker at the other end
     * @param epoch epoch of that worker
     * @param state state of the value or of the fork, in lower case
     * @param handles number of handles that are open on this worker, of the reference as a whole
     * @param kept whether this worker has the value, on the disk too
     * @param type type of the value, as its creator named it
     */
    public record ReferenceInfo(
            String part,
            String rref,
            String fork,
            int peer,
            long epoch,
            String state,
            long handles,
            boolean kept,
            String type) {}
}
