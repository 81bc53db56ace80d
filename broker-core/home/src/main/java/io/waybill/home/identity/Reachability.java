package io.waybill.home.identity;

import io.waybill.api.WorkerInfo;

/**
 * Route by which workers of a home reach one of them: {@link #LOCAL its files}, or a carrier that joined in the name of
 * a worker of another host.
 *
 * @param carrier name of the carrier; empty without one
 */
public record Reachability(String carrier) {

    /** Reachability of a worker whose process runs on the host of its home. */
    public static final Reachability LOCAL = new Reachability("");

    public Reachability {
        if (!carrier.isEmpty()) {
            WorkerInfo.requireName(carrier);
        }
    }

    /** Returns whether the worker is reached without a carrier. */
    public boolean isLocal() {
        return carrier.isEmpty();
    }
}
