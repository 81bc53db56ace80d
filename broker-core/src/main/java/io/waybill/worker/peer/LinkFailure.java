package io.waybill.worker.peer;

import io.waybill.home.Peer;

/**
 * Why there is no link to an incarnation of a peer.
 *
 * @param epoch of the incarnation
 * @param problem empty text for a link that became unreadable
 * @param retryAtNs when to try again, on the monotonic clock
 */
record LinkFailure(long epoch, String problem, long retryAtNs) {

    boolean isOf(Peer peer) {
        return epoch == peer.epoch();
    }
}
