package io.waybill.api.broker;

import io.waybill.api.WorkerInfo;
import java.util.Objects;

/**
 * One process under a worker's name, from its join to its end. The next one has the same id and name, and a higher
 * epoch.
 *
 * @param epoch number of times that the name has joined; 1 or more
 */
public record Incarnation(WorkerInfo worker, long epoch) {

    public Incarnation {
        Objects.requireNonNull(worker);
        if (epoch < 1) {
            throw new IllegalArgumentException("an epoch is 1 or more: " + epoch);
        }
    }

    @Override
    public String toString() {
        return worker.name() + " (id " + worker.id() + ", epoch " + epoch + ")";
    }
}
