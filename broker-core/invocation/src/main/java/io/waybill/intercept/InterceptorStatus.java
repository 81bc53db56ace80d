package io.waybill.intercept;

import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.Provider;
import java.util.List;

/**
 * Status of an interceptor, for operators.
 *
 * @param inFlight calls that it began, and that have no outcome
 * @param failed number of its exceptions other than rejections
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
