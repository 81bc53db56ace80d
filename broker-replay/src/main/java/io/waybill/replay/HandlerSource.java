package io.waybill.replay;

import io.waybill.api.WorkerInfo;
import io.waybill.api.broker.Broker;
import io.waybill.device.DeviceRegistry;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.intercept.InterceptorRegistry;

/** Source of handlers without a bundle, such as those of a plain program. */
@FunctionalInterface
public interface HandlerSource {

    /** Receives the broker of the handlers before {@link #fill}. Ignored by default. */
    default void use(Broker broker, WorkerInfo worker) {}

    /** Puts the handlers of a worker into the registry. They run on the replay's thread instead of their executor's. */
    void fill(HandlerRegistry registry, WorkerInfo worker);

    /** Puts the interceptors of a worker into the registry. Adds none by default. */
    default void intercept(InterceptorRegistry interceptors, WorkerInfo worker) {}

    /** Puts the converters of a worker into the registry. Adds none by default. */
    default void convert(DeviceRegistry devices, WorkerInfo worker) {}
}
