package io.waybill.api.handler;

/**
 * Times at which a request passed the stages before its handler, by the wall clock in ns since 1970. Times never
 * decrease from stage to stage; a skipped stage has length 0.
 *
 * @param sentNs time at which its sender wrote it to the journal
 * @param readNs time at which this worker read it from the sender's journal
 * @param unparkedNs time at which it stopped waiting for a handler or an access policy
 * @param confirmedNs time at which the owners had registered its remote references
 * @param begunNs time at which a thread of its handler took it
 * @param convertedNs time at which its tensors were on the handler's device
 */
public record RequestArrival(
        long sentNs, long readNs, long unparkedNs, long confirmedNs, long begunNs, long convertedNs) {

    /**
     * Creates the times and corrects small differences between clocks: a time after its successor is set to its
     * successor.
     */
    public RequestArrival {
        begunNs = Math.min(begunNs, convertedNs);
        confirmedNs = Math.min(confirmedNs, begunNs);
        unparkedNs = Math.min(unparkedNs, confirmedNs);
        readNs = Math.min(readNs, unparkedNs);
        sentNs = Math.min(sentNs, readNs);
    }
}
