/**
 * Reading a queue: a tail for the path of a call, a reader by position for tools, recovery and indexing.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.journal.read.JournalTail} to follow a live queue, mapped
 *   <li>{@link io.waybill.journal.read.QueueReader} to read any queue by positional reads, damaged or not
 * </ul>
 */
package io.waybill.journal.read;
