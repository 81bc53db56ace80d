package io.waybill.api;

import org.osgi.annotation.versioning.ConsumerType;

/**
 * Listener for the outcome of a call. Exactly one of the two methods is called, once.
 *
 * <p><b>Threads.</b> The worker's poller, or the caller's thread while it polls; a separate thread of the worker when
 * the response contains tensors for a device. It must not block; a blocking call from here is rejected. A callback that
 * runs for more than about 100 ms is logged, and another thread takes over polling.
 */
@ConsumerType
public interface ResponseListener {

    /** Called when the response arrived. The response is invalid after this method returns. */
    void onResponse(Response response);

    /** Called when the call failed. */
    void onFailure(CallException failure);
}
