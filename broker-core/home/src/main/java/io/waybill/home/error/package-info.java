/**
 * Errors of a home, or of a worker's directory in it, that can't be used.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.home.error.HomeException} for all of them
 * </ul>
 */
package io.waybill.home.error;
