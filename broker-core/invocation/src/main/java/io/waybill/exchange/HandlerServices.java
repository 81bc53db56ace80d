package io.waybill.exchange;

import io.waybill.api.Caller;
import io.waybill.api.Rpc;
import io.waybill.api.handler.RequestArrival;
import io.waybill.api.tensor.TensorBuffers;
import java.time.InstantSource;
import java.util.random.RandomGenerator;

/**
 * Services for a handler besides the message and its response: calls on behalf of the request, buffers, and inputs that
 * are recorded. The handlers of messages inside a request share the services of the outermost one.
 *
 * <p><b>Threads.</b> The threads of the handlers.
 */
public interface HandlerServices {

    Caller caller();

    Rpc rpc();

    TensorBuffers buffers();

    InstantSource clock();

    RequestArrival arrival();

    RandomGenerator random();

    /** Returns the time until a deadline on CLOCK_BOOTTIME; the reading is recorded. */
    long leftNs(long deadlineNs);
}
