/**
 * Profiler: records the work of all workers during a program's calls as one profile.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.profiler.Profiler} for programs and bundles that profile
 *   <li>{@link io.waybill.profiler.profile.Profile} for the result
 *   <li>{@link io.waybill.profiler.RemoteProfiler} to use it in a worker without OSGi
 * </ul>
 */
@Version("0.1.0")
package io.waybill.profiler;

import org.osgi.annotation.versioning.Version;
