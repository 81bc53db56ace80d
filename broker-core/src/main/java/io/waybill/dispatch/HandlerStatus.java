package io.waybill.dispatch;

/**
 * What an operator sees of one key and one handler for it, at one moment. The numbers are read one after another while calls go on.
 *
 * @param provider of the handler; of the last one when it left
 * @param sinceWallNs when the handler arrived, or left
 * @param inFlight requests that it has begun and not ended, late responses included
 * @param parked requests of the key that wait for a handler
 * @param done requests that it ended without an error
 * @param failed requests that it ended with an error
 * @param stuck requests that it should have ended long ago, of those in flight
 */
public record HandlerStatus(
        HandlerKey key,
        State state,
        Provider provider,
        long sinceWallNs,
        boolean nonBlocking,
        DeliveryPolicy delivery,
        long inFlight,
        long parked,
        long done,
        long failed,
        long stuck) {

    /** What becomes of a new request of the key as far as this handler goes. */
    public enum State {
        /** It goes to this handler. */
        SERVING,
        /** It is refused: too many requests are stuck in this handler, which would get it. */
        STUCK,
        /** It goes to another handler with a higher ranking, or an older one. */
        SHADOWED,
        /** The handler was withdrawn and still has requests of its own to end. */
        DRAINING,
        /** There is no handler; requests park, up to the limits. */
        LEFT
    }
}
