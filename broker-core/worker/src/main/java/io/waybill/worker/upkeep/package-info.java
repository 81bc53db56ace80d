/**
 * Upkeep: background maintenance, off the path of a call, and the ways to stop.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.worker.upkeep.Housekeeper} for periodic work
 * <li>{@link io.waybill.worker.upkeep.Retention} for deleting journal files, {@link io.waybill.worker.upkeep.Syncer}
 * for durability
 * <li>{@link io.waybill.worker.upkeep.Watchdog} for handlers that do not return
 * <li>{@link io.waybill.worker.upkeep.RequestDrain} and {@link io.waybill.worker.upkeep.GroupShutdown} for orderly
 * shutdown
 * </ul>
 */
package io.waybill.worker.upkeep;
