/**
 * Encoding of messages as bytes, and their decoding: the envelope with which every record of a journal begins.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.wire.Envelope} for the layout, byte by byte
 *   <li>{@link io.waybill.wire.MessageBuffer} to compose a record
 *   <li>{@link io.waybill.wire.RecordView} to read one
 * </ul>
 */
package io.waybill.wire;
