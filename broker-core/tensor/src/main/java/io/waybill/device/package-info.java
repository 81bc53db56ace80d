/**
 * Converters of the device types that this worker can move tensors in and out of.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.device.DeviceRegistry} for one converter per device type
 *   <li>{@link io.waybill.device.CpuConverter} for the built-in converter of host memory
 * </ul>
 */
package io.waybill.device;
