/**
 * Values of remote references on the disk, which outlive the process of their owner: one file for each, in its worker's
 * own directory.
 *
 * <p>File content is untrusted: every length is checked before anything is allocated, every byte is covered by a
 * checksum, and a file that is damaged costs its own value alone.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.kept.KeptValues} for all kept values of a worker
 *   <li>{@code KeptLayout} for the file, byte by byte
 * </ul>
 */
package io.waybill.kept;
