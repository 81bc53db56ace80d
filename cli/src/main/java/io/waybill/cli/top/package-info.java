/**
 * {@code waybill top}: shows the current activity of a home's workers, from the figures that they publish.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.cli.top.TopCommand} for the command
 * </ul>
 */
package io.waybill.cli.top;
