/**
 * Archive: copies of the tensor bytes that travelled through segments, kept for replay. The worker writes it after the
 * call, one file for each file of a queue; the journal's tools and replay read it.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.archive.ArchiveLayout} for the files, byte by byte
 *   <li>{@link io.waybill.archive.ArchiveReader} to read one, also from another process
 *   <li>{@link io.waybill.archive.Omission} for the reasons why bytes are absent
 * </ul>
 *
 * Sizes are in bytes. Everything that is read from a file is checked before it is used.
 */
package io.waybill.archive;
