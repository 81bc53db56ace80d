/**
 * Content of a worker's {@code cursors} file: the positions up to which it has read each peer, and what it has
 * completed and released.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.home.cursor.Cursors} for the worker that owns the file
 *   <li>{@link io.waybill.home.cursor.PeerCursors} for the file of a peer
 * </ul>
 */
package io.waybill.home.cursor;
