/**
 * Profiles: what is recorded, and how it is shown.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.profiler.profile.Profile} for what was recorded
 *   <li>{@link io.waybill.profiler.profile.ProfilerConfig} to say what is
 * </ul>
 */
@Version("1.1.0")
package io.waybill.profiler.profile;

import org.osgi.annotation.versioning.Version;
