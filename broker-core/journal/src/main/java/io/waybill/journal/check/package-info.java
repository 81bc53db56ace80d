/**
 * Checks of a queue's structure: files, indexes and the directory table. Nothing here changes a file.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.journal.check.StructureCheck} to check a queue
 * </ul>
 */
package io.waybill.journal.check;
