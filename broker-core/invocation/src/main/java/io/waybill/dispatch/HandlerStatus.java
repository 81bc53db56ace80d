package io.waybill.dispatch;

import io.waybill.api.admin.HandlerInfo;

/**
 * Status of one key and one handler for it, for operators. The numbers are read one after another during calls.
 *
 * @param provider provider of the handler; of the last one when it was removed
 * @param sinceWallNs time at which the handler was installed, or removed
 * @param inFlight requests that it has begun and not ended, late responses included
 * @param parked requests of the key that wait for a handler
 * @param done requests that it ended without an error
 * @param failed requests that it ended with an error
 * @param stuck requests in flight that are long overdue
 */
public record HandlerStatus(
        HandlerKey key,
        HandlerInfo.State state,
        Provider provider,
        long sinceWallNs,
        boolean nonBlocking,
        DeliveryPolicy delivery,
        long inFlight,
        long parked,
        long done,
        long failed,
        long stuck) {}
