package io.waybill.api.metrics;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import java.util.Map;
import java.util.Objects;

/**
 * Figures of the requests of one type and operation between a worker and one peer. Immutable.
 *
 * <p><b>Untrusted.</b> Names of operations come from messages of peers: any text.
 *
 * @param type of the requests
 * @param operation the name of the operation, function or operator; empty for types without names, and for requests
 *     without a handler
 * @param peer name of the worker on the other side. Empty, with {@link MessageType#UNKNOWN} and without a name, in the
 *     one entry for all requests beyond the max number of entries
 * @param count requests that have their outcome
 * @param errors number of failures by code; codes that did not occur are absent
 * @param requestBytes total size of the records of the {@code count} requests, without tensors in segments
 * @param responseBytes total size of the records of their responses
 * @param inFlight requests without an outcome, except parked ones
 * @param parked requests that wait for a handler, a policy or a thread; 0 on the caller's side
 * @param latency one value for each of the {@code count} requests: from its record in the caller's journal to that of
 *     its response, on the caller's side until the response or the failure was noticed
 */
public record OperationMetrics(
        MessageType type,
        String operation,
        String peer,
        long count,
        Map<ErrorCode, Long> errors,
        long requestBytes,
        long responseBytes,
        long inFlight,
        long parked,
        LatencyHistogram latency) {

    public OperationMetrics {
        Objects.requireNonNull(type);
        Objects.requireNonNull(operation);
        Objects.requireNonNull(peer);
        errors = Map.copyOf(errors);
        Objects.requireNonNull(latency);
    }

    /** Returns the number of failed requests. */
    public long failed() {
        return errors.values().stream().mapToLong(Long::longValue).sum();
    }

    /** Returns whether this is the entry of all requests beyond the max number of entries. */
    public boolean isOther() {
        return peer.isEmpty();
    }
}
