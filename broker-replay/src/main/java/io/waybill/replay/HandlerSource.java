package io.waybill.replay;

import io.waybill.api.WorkerInfo;
import io.waybill.api.broker.Broker;
import io.waybill.device.DeviceRegistry;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.intercept.InterceptorRegistry;

/** Handlers that are no bundle's, such as those of a plain program. */
@FunctionalInterface
public interface HandlerSource {

    /** Is given the broker of the handlers, before they are asked for. The default does not use it. */
    default void use(Broker broker, WorkerInfo worker) {}

    /** Puts the handlers of a worker into the registry. They run on the replay's thread, and not on their executor's. */
    void fill(HandlerRegistry registry, WorkerInfo worker);

    /** Puts the interceptors of a worker into the registry. The default has none. */
    default void intercept(InterceptorRegistry interceptors, WorkerInfo worker) {}

    /** Puts the converters of a worker into the registry. The default has none. */
    default void convert(DeviceRegistry devices, WorkerInfo worker) {}
}
