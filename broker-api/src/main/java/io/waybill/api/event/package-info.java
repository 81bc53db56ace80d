/**
 * Service interface for bundles that follow the events of calls.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.api.event.CallEvents} for the listener
 * <li>{@link io.waybill.api.event.CallEvent} for the events
 * </ul>
 */
@Version("1.0.0")
package io.waybill.api.event;

import org.osgi.annotation.versioning.Version;
