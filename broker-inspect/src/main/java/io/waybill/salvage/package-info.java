/**
 * Brings what can be read in a damaged home into a new one. The damaged home is only read, by position; nothing is written there.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.salvage.Salvage} for a home
 *   <li>{@link io.waybill.salvage.SalvageReport} for what it says in the end
 * </ul>
 */
package io.waybill.salvage;
