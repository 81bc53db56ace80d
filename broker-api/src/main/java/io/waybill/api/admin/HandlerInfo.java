package io.waybill.api.admin;

import java.time.Instant;

/**
 * Status of one key and one handler for it. The numbers are read one after another during calls. Immutable.
 *
 * @param key what it handles, such as {@code text.count}
 * @param provider bundle of the handler; of the last one when it was removed
 * @param version version of that bundle
 * @param since time at which the handler was installed, or removed
 * @param delivery {@code at-most-once} or {@code at-least-once}
 * @param inFlight requests that it has begun and not ended, late responses included
 * @param parked requests of the key that wait for a handler
 * @param done requests that it ended without an error
 * @param failed requests that it ended with an error
 * @param stuck requests in flight that are long overdue
 */
public record HandlerInfo(
        String key,
        State state,
        String provider,
        String version,
        Instant since,
        boolean nonBlocking,
        String delivery,
        long inFlight,
        long parked,
        long done,
        long failed,
        long stuck) {

    /** Fate of a new request of the key, as far as this handler decides it. */
    public enum State {
        /** The request goes to this handler. */
        SERVING,
        /** The request is rejected: it would go to this handler, and too many of its calls are stuck. */
        STUCK,
        /** The request goes to another handler with a higher ranking, or an older one. */
        SHADOWED,
        /** The handler is of the next version of a bundle, and gets the requests that a rule selects. */
        CANARY,
        /** The handler was withdrawn and still has requests of its own to end. */
        DRAINING,
        /** There is no handler; requests park, up to the limits. */
        LEFT
    }
}
