/**
 * Writing a queue: appends, space reserved ahead, syncs, and the watch over files that another process changes.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.journal.append.Journal} to append
 * <li>{@link io.waybill.journal.append.QueueSync} to sync appended records
 * <li>{@link io.waybill.journal.append.QueueCopy} to write a queue from existing records
 * </ul>
 */
package io.waybill.journal.append;
