/**
 * Profiles: recorded events and their presentation.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.profiler.profile.Profile} for the events
 *   <li>{@link io.waybill.profiler.profile.ProfilerConfig} for the options
 * </ul>
 */
@Version("0.1.0")
package io.waybill.profiler.profile;

import org.osgi.annotation.versioning.Version;
