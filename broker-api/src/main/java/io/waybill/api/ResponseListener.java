package io.waybill.api;

import org.osgi.annotation.versioning.ConsumerType;

/**
 * Is told the outcome of a call: exactly one of the two methods, once.
 *
 * <p><b>Threads.</b> The worker's poller, or the caller's thread when that is doing the polling; a thread of the worker's own when the
 * response brings tensors for a device. It must not block; a blocking call from here is refused. One that does not return within 100 ms
 * or so is logged, and another thread polls in place of the one that it keeps.
 */
@ConsumerType
public interface ResponseListener {

    /** The response arrived. It is dead when this method returns. */
    void onResponse(Response response);

    /** The call failed. */
    void onFailure(CallException failure);
}
