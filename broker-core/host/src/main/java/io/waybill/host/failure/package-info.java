/**
 * Handling of failures: attempts each step of a close, logs exceptions of foreign code, surfaces faults of mapped
 * memory.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.host.failure.CloseSteps} to close several things
 *   <li>{@link io.waybill.host.failure.MappedFaults} for faults of mapped files
 *   <li>{@link io.waybill.host.failure.HostFailures} to distinguish a failed system call from wrong data
 * </ul>
 */
package io.waybill.host.failure;
