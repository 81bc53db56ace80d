/**
 * Files of stores that are kept on disk: their format, writer and reader. The next incarnation of their worker reads
 * them.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.broker.file.StateFiles} for the directory
 * <li>{@link io.waybill.broker.file.StateFileLayout} for the format
 * </ul>
 */
package io.waybill.broker.file;
