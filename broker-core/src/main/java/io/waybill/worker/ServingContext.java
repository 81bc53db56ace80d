package io.waybill.worker;

import io.waybill.host.Clock;

/** What serving a request needs of its worker. */
record ServingContext(
        Clock clock,
        Answers responses,
        Calls calls,
        TensorTransit transit,
        Invocations invocations,
        WorkerReferences references,
        FaultAlarm faults,
        HandlerErrorLog handlerErrors) {}
