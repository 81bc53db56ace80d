package io.waybill.intercept;

import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.dispatch.Provider;
import io.waybill.host.Clock;
import java.util.stream.Stream;

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

    /** Returns how often the interceptors of a provider threw something other than a rejection. */
    public long failures(Provider provider) {
        return Stream.concat(calls.statuses().stream(), handlers.statuses().stream())
                .filter(status -> status.provider().equals(provider))
                .mapToLong(InterceptorStatus::failed)
                .sum();
    }
}
