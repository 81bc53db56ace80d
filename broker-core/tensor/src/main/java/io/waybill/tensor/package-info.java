/**
 * Tensors in transit: the tensor section of a record, the segments through which large storages travel, and the
 * storages at both ends.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.tensor.TensorSection} for the layout, byte by byte
 *   <li>{@link io.waybill.tensor.TensorSender} and {@link io.waybill.tensor.segment.SegmentPool} for the sending side
 *   <li>{@link io.waybill.tensor.TensorReceiver} for the receiving side
 *   <li>{@link io.waybill.tensor.HostMemory} for tensors outside of messages
 * </ul>
 *
 * Bytes of tensors never pass through the Java heap. Sizes are in bytes.
 */
package io.waybill.tensor;
