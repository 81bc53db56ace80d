package io.waybill.script;

import io.waybill.script.source.RpcText;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A call site: a function that a script calls on another worker, and the way of calling it. Immutable.
 *
 * @param function name in the message, such as {@code math.scale}
 * @param result required type of the response
 */
record RpcSite(RpcText.Way way, String function, ParameterType result) {

    /** Call sites by the number in the script's graph. */
    private static final Map<Long, RpcSite> SITES = new ConcurrentHashMap<>();

    private static final AtomicLong LAST = new AtomicLong();

    /** @return the number of the site, valid until {@link #forget} */
    long register() {
        long number = LAST.incrementAndGet();
        SITES.put(number, this);
        return number;
    }

    static RpcSite of(long number) {
        return SITES.get(number);
    }

    static void forget(long number) {
        SITES.remove(number);
    }
}
