package io.waybill.worker.serve;

import io.waybill.api.handler.RequestArrival;
import io.waybill.host.Clock;
import io.waybill.wire.RecordView;

/**
 * Times at which one request passed the stages before its handler. Pooled with the {@link PeerRequest}.
 *
 * <p><b>Threads.</b> Belongs to the thread that the request belongs to.
 */
final class RequestTimes {

    long parkedSinceNs; // on the monotonic clock; 0: it was not parked
    long unconfirmedNs; // time since which it waited for owners of references, on the boot clock; 0: it did not
    long queuedNs; // on the boot clock; 0: not queued
    long convertedNs; // wall clock; 0: not converted
    long begunNs; // wall clock; 0: not begun, or begun on the polling thread, which skips the clock read

    /** Begins a request, which may have been parked. */
    void admitted() {
        begunNs = 0;
        unconfirmedNs = 0;
        queuedNs = 0;
        convertedNs = 0;
    }

    /** Returns the times of a request whose handler is about to be called or was. */
    RequestArrival arrival(RecordView request, Clock clock) {
        long beganNs = begunNs != 0 ? begunNs : clock.wallNs();
        long confirmedNs = queuedNs != 0 ? clock.wallNsAt(queuedNs) : beganNs;
        long unparkedNs = unconfirmedNs != 0 ? clock.wallNsAt(unconfirmedNs) : confirmedNs;
        long readNs = parkedSinceNs != 0 ? clock.wallNs() - (clock.monotonicNs() - parkedSinceNs) : unparkedNs;
        return new RequestArrival(
                request.sentNs(), readNs, unparkedNs, confirmedNs, beganNs, convertedNs != 0 ? convertedNs : beganNs);
    }
}
