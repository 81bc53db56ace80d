package io.waybill.api.handler;

/**
 * When a request passed the stages before its handler, by the wall clock in ns since 1970. No time is before the one in front of it; a stage that the request did
 * not need has no length.
 *
 * @param sentNs when its sender wrote it to its journal
 * @param readNs when this worker read it from there
 * @param unparkedNs when it no longer waited for a handler or an access policy
 * @param confirmedNs when the owners of its remote references knew of them
 * @param begunNs when a thread took it for its handler
 * @param convertedNs when its tensors were on the device of the handler
 */
public record RequestArrival(
        long sentNs, long readNs, long unparkedNs, long confirmedNs, long begunNs, long convertedNs) {

    /** Creates one from times that may differ a little between clocks: a time after the one behind it becomes that. */
    public RequestArrival {
        begunNs = Math.min(begunNs, convertedNs);
        confirmedNs = Math.min(confirmedNs, begunNs);
        unparkedNs = Math.min(unparkedNs, confirmedNs);
        readNs = Math.min(readNs, unparkedNs);
        sentNs = Math.min(sentNs, readNs);
    }
}
