package io.waybill.intercept;

import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.dispatch.ProviderErrors;
import io.waybill.host.Host;

/** Registry of the interceptors of a worker. Thread-safe. */
public final class InterceptorRegistry {

    private final Interceptors<CallInterceptor> calls;
    private final Interceptors<HandlerInterceptor> handlers;

    /** Creates a registry with its own counts of failures. */
    public InterceptorRegistry(Host host) {
        this(host, new ProviderErrors());
    }

    /**
     * Creates a registry.
     *
     * @param errors counts of the failures of interceptors
     */
    public InterceptorRegistry(Host host, ProviderErrors errors) {
        this.calls = new Interceptors<>(
                OptionalMethods.of(CallInterceptor.class, CallInterceptor::isInterceptingCalls),
                host.clock(),
                host.threads(),
                errors);
        this.handlers = new Interceptors<>(
                OptionalMethods.of(HandlerInterceptor.class, HandlerInterceptor::isInterceptingHandlers),
                host.clock(),
                host.threads(),
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
