/**
 * Files of stores that are kept on disk: how they are written, and read by the next incarnation of their worker.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.broker.file.StateFiles} for the directory
 * <li>{@link io.waybill.broker.file.StateFileLayout} for the format
 * </ul>
 */
package io.waybill.broker.file;
