package io.waybill.rref.status;

import io.waybill.api.WorkerInfo;

/**
 * Incarnation of a worker.
 *
 * @param worker its id
 * @param epoch number of joins of its name, this one included; from 1
 */
public record Holder(int worker, int epoch) {

    public Holder {
        if (worker < 0 || worker > WorkerInfo.MAX_ID || epoch < 1) {
            throw new IllegalArgumentException(
                    "a worker id is 0.." + WorkerInfo.MAX_ID + " and an epoch at least 1: " + worker + ", " + epoch);
        }
    }
}
