package io.waybill.worker;

import io.waybill.api.TensorBuffers;
import io.waybill.host.Clock;

/** What serving a request needs of its worker. */
record ServingContext(
        Clock clock, Answers answers, Calls calls, TensorBuffers buffers, HandlerErrorLog handlerErrors) {}
