/**
 * The archive: copies of the tensor bytes that travelled through segments, kept for replay. It is written behind the call, one file for
 * each file of a queue, and read by the journal's tools and by replay.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.archive.ArchiveLayout} for the files, byte by byte
 *   <li>{@link io.waybill.archive.ArchiveReader} to read one, from another process too
 *   <li>{@link io.waybill.archive.Omission} for why bytes are not there
 * </ul>
 *
 * Sizes are in bytes. Nothing that is read from a file is believed before it was checked.
 */
package io.waybill.archive;
