package io.waybill.autograd;

import java.util.Collections;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * Status of one context in this worker.
 *
 * @param id of the context
 * @param driver id of the worker that opened it
 * @param sends messages that were sent with tensors that require a gradient
 * @param receives messages that were received with such tensors
 * @param gradients leaves that have a gradient in this worker
 * @param bytes of all tensors that were sent and received
 * @param knownWorkers ids of the workers that know of it, in ascending order
 */
public record ContextStatus(
        long id, int driver, int sends, int receives, int gradients, long bytes, SortedSet<Integer> knownWorkers) {

    public ContextStatus {
        knownWorkers = Collections.unmodifiableSortedSet(new TreeSet<>(knownWorkers));
    }
}
