package io.waybill.intercept;

import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.host.Clock;

/** The interceptors of a worker. Thread-safe. */
public final class InterceptorRegistry {

    private final Interceptors<CallInterceptor> calls;
    private final Interceptors<HandlerInterceptor> handlers;

    public InterceptorRegistry(Clock clock) {
        this.calls = new Interceptors<>(clock);
        this.handlers = new Interceptors<>(clock);
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
