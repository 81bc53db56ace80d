/**
 * What the journals of a home hold: for commands that look, while the workers live or long after. Nothing is written.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.query.HomeJournals} for a home
 *   <li>{@link io.waybill.query.stored.StoredRecord} for what is known of one record
 * </ul>
 */
package io.waybill.query;
