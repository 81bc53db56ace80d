package io.waybill.autograd;

import java.util.Set;

/**
 * One context in this worker.
 *
 * @param id of the context
 * @param driver id of the worker that opened it
 * @param sends messages that were sent with tensors that require a gradient
 * @param receives messages that were received with such tensors
 * @param gradients leaves that have a gradient here
 * @param knownWorkers ids of the workers that know of it
 */
public record ContextStatus(long id, int driver, int sends, int receives, int gradients, Set<Integer> knownWorkers) {

    public ContextStatus {
        knownWorkers = Set.copyOf(knownWorkers);
    }
}
