package io.waybill.exchange;

import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.handling.CallReports;
import io.waybill.host.Clock;
import io.waybill.host.Threads;
import io.waybill.intercept.Interceptors;
import java.util.function.Supplier;

/**
 * Shared context of all exchanges of a worker, or of a replay.
 *
 * @param workerId the worker that serves the requests
 * @param stacks returns the stack of the calling thread
 * @param errors receiver of the failures of handlers
 */
public record ExchangeContext(
        int workerId,
        Clock clock,
        Threads threads,
        Interceptors<HandlerInterceptor> interceptors,
        Supplier<? extends HandlerStack> stacks,
        CallReports reports,
        HandlerErrors errors) {}
