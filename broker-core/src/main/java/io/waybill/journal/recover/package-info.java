/**
 * What a writer does before its first append: finds where its queue ends, cuts what a power cut left unfinished, and goes on behind it.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.journal.recover.QueueBeginning} for the order of the steps
 * </ul>
 */
package io.waybill.journal.recover;
