/**
 * Steps of a writer before its first append: finds the end of its queue, removes incomplete data after a power cut, and
 * continues there.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.journal.recover.QueueBeginning} for the order of the steps
 * </ul>
 */
package io.waybill.journal.recover;
