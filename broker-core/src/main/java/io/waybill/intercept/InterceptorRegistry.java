package io.waybill.intercept;

import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.dispatch.ProviderErrors;
import io.waybill.host.Clock;

/** The interceptors of a worker. Thread-safe. */
public final class InterceptorRegistry {

    private final Interceptors<CallInterceptor> calls;
    private final Interceptors<HandlerInterceptor> handlers;

    /** Creates a registry that counts failures for itself alone. */
    public InterceptorRegistry(Clock clock) {
        this(clock, new ProviderErrors());
    }

    /** @param errors counts what interceptors throw */
    public InterceptorRegistry(Clock clock, ProviderErrors errors) {
        this.calls = new Interceptors<>(
                OptionalMethods.of(CallInterceptor.class, CallInterceptor::isInterceptingCalls), clock, errors);
        this.handlers = new Interceptors<>(
                OptionalMethods.of(HandlerInterceptor.class, HandlerInterceptor::isInterceptingHandlers),
                clock,
                errors);
    }

    /** Returns the interceptors around outgoing calls. */
    public Interceptors<CallInterceptor> calls() {
        return calls;
    }

    /** Returns the interceptors around handlers. */
    public Interceptors<HandlerInterceptor> handlers() {
        return handlers;
    }
}
