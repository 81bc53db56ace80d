/**
 * Queries on the journals of a home, for commands, while the workers run or later. They never write.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.query.HomeJournals} for a home
 * <li>{@link io.waybill.query.stored.StoredRecord} for one record
 * </ul>
 */
package io.waybill.query;
