/**
 * Messages to bytes and back: the envelope that every record of a journal begins with.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.wire.Envelope} for the layout, byte by byte
 *   <li>{@link io.waybill.wire.MessageBuffer} to compose a record
 *   <li>{@link io.waybill.wire.RecordView} to read one
 * </ul>
 */
package io.waybill.wire;
