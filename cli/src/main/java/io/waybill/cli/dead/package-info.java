/**
 * Failed calls: {@code waybill dead} finds them in the journals, and sends them again.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.cli.dead.Shelf} finds them
 * <li>{@link io.waybill.cli.dead.Resender} sends them again
 * </ul>
 */
package io.waybill.cli.dead;
