/**
 * State of a bundle that outlives an update of the bundle.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.api.state.StateStore} for the state, which {@link io.waybill.api.broker.Broker#state} returns
 * </ul>
 */
@Version("1.0.0")
package io.waybill.api.state;

import org.osgi.annotation.versioning.Version;
