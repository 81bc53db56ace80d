/**
 * The {@code cursors} file of a worker: what it has read of each peer, what it has completed and released.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.home.cursor.Cursors} for the worker that owns the file
 *   <li>{@link io.waybill.home.cursor.PeerCursors} for the file of a peer
 * </ul>
 */
package io.waybill.home.cursor;
