package io.waybill.intercept;

import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.Provider;
import java.util.List;

/**
 * An interceptor as an operator sees it.
 *
 * @param inFlight calls that it began, and that have no outcome
 * @param failed how often it threw something other than a rejection
 * @param leaving whether it was withdrawn and has calls in flight
 */
public record InterceptorStatus(
        Provider provider,
        List<HandlerKey> keys,
        int ranking,
        long inFlight,
        long begun,
        long failed,
        boolean leaving) {}
