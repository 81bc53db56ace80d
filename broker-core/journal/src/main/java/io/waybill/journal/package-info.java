/**
 * Queues that a worker writes, and the ways to read them: append, tail, look up by id. The only user of Chronicle
 * Queue.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.journal.append.Journal} to append to the worker's own queue
 *   <li>{@link io.waybill.journal.read.JournalTail} to read a queue, the worker's own or a peer's
 * </ul>
 */
package io.waybill.journal;
