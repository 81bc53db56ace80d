/**
 * Remote references: the transport of a worker's references in its messages, and the values that it owns.
 *
 * <p>The protocol itself is {@code io.waybill.rref}; this package implements its transport and the handles of programs.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.worker.reference.WorkerReferences} for the connection to the protocol
 * <li>{@link io.waybill.worker.reference.ReferenceHandle} for a program's handles
 * <li>{@link io.waybill.worker.reference.StoredValue} for values, {@link io.waybill.worker.reference.ValueKeeper} for
 * those on the disk
 * </ul>
 */
package io.waybill.worker.reference;
