/**
 * What a bundle may see of the broker: the message it is handed, the outbox it answers through, the tensors that travel with
 * both, and the services it may publish.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.api.handler.MessageHandler} to answer messages
 *   <li>{@link io.waybill.api.device.DeviceConverter} to move tensors on and off a device
 *   <li>{@link io.waybill.api.Caller} to call other workers
 *   <li>{@link io.waybill.api.Value} for what arguments and results are made of
 * </ul>
 *
 * Nothing here is null unless its type is {@link java.util.Optional}. Sizes are in bytes, and times in nanoseconds, unless a
 * name says otherwise.
 */
@Version("2.0.0")
package io.waybill.api;

import org.osgi.annotation.versioning.Version;
