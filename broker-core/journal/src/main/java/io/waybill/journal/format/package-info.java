/**
 * Layout of a queue's files: Chronicle's documents, frames, file names and directory table, read without Chronicle
 * where a file may be damaged. For the packages of the journal.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.journal.format.QueueStructure} to find problems of the files of a queue
 *   <li>{@link io.waybill.journal.format.ChronicleDocuments} for the documents that Chronicle itself writes
 * </ul>
 */
package io.waybill.journal.format;
