/**
 * Peers: the links to the other workers of the home.
 *
 * <p>A {@link io.waybill.worker.peer.PeerLink} stands for one incarnation of a peer. It holds the reader of the peer's
 * queues, the account of calls in flight to it, and its doorbell. {@link io.waybill.worker.peer.Links} makes and ends
 * them.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.worker.peer.Links} for peers that join and leave
 * <li>{@link io.waybill.worker.peer.PeerReader} for reading, {@link io.waybill.worker.peer.FlowAccount} for
 * back-pressure
 * <li>{@link io.waybill.worker.peer.Quarantine} for peers whose files can't be read
 * </ul>
 */
package io.waybill.worker.peer;
