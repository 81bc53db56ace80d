/**
 * The public API of the broker: messages and outboxes of handlers, calls to other workers, values, tensors and remote
 * references, and the services that a bundle may publish.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.api.handler.MessageHandler} to respond to messages
 * <li>{@link io.waybill.api.device.DeviceConverter} to move tensors on and off a device
 * <li>{@link io.waybill.api.intercept.CallInterceptor} to change, watch or refuse calls
 * <li>{@link io.waybill.api.broker.Broker} for the work of a bundle outside of a handler
 * <li>{@link io.waybill.api.Caller} to call other workers
 * <li>{@link io.waybill.api.Value} for arguments and results
 * </ul>
 *
 * Nothing here is null unless its type is {@link java.util.Optional}. Sizes are in bytes, and times in nanoseconds,
 * unless a name says otherwise.
 */
@Version("1.0.0")
package io.waybill.api;

import org.osgi.annotation.versioning.Version;
