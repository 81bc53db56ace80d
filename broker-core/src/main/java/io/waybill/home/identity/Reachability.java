package io.waybill.home.identity;

import io.waybill.api.WorkerInfo;

/**
 * How workers of a home reach one of them: {@link #LOCAL through its files}, or through a carrier that joined in the name of a worker of
 * another host.
 *
 * @param carrier the name of the carrier; empty without one
 */
public record Reachability(String carrier) {

    /** The reachability of a worker whose process runs on the host of its home. */
    public static final Reachability LOCAL = new Reachability("");

    public Reachability {
        if (!carrier.isEmpty()) {
            WorkerInfo.requireName(carrier);
        }
    }

    /** Returns whether no carrier stands between. */
    public boolean isLocal() {
        return carrier.isEmpty();
    }
}
