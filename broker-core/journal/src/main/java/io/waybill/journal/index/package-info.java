/**
 * Index by id: the positions of messages in a worker's queues. Derived from the queues, and disposable.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.journal.index.IndexBuilder} for the worker that owns the journal
 * <li>{@link io.waybill.journal.index.JournalIndex} to find a message by its id, from any process
 * </ul>
 */
package io.waybill.journal.index;
