/**
 * The profiler: what happens in all workers while a program calls them, as one profile.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.profiler.Profiler} for programs and bundles that profile
 *   <li>{@link io.waybill.profiler.profile.Profile} for what they get
 *   <li>{@link io.waybill.profiler.RemoteProfiler} to have it in a worker without OSGi
 * </ul>
 */
@Version("1.1.0")
package io.waybill.profiler;

import org.osgi.annotation.versioning.Version;
