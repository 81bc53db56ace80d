package io.waybill.rref.status;

import io.waybill.api.WorkerInfo;

/**
 * One incarnation of a worker.
 *
 * @param worker its id
 * @param epoch how often its name had joined, itself included; from 1
 */
public record Holder(int worker, int epoch) {

    public Holder {
        if (worker < 0 || worker > WorkerInfo.MAX_ID || epoch < 1) {
            throw new IllegalArgumentException(
                    "a worker id is 0.." + WorkerInfo.MAX_ID + " and an epoch at least 1: " + worker + ", " + epoch);
        }
    }
}
