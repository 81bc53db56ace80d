/**
 * Copies everything readable in a damaged home to a new one. The damaged home is only read, by position; it is never
 * written.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.salvage.Salvage} for a home
 * <li>{@link io.waybill.salvage.SalvageReport} for its result
 * </ul>
 */
package io.waybill.salvage;
