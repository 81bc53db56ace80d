/**
 * Writing a queue: appends, space reserved ahead, syncs, and the watch over files that another process changes.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.journal.append.Journal} to append
 *   <li>{@link io.waybill.journal.append.QueueSync} to bring what was appended to the disk
 *   <li>{@link io.waybill.journal.append.QueueCopy} to write a queue from records that exist
 * </ul>
 */
package io.waybill.journal.append;
