/**
 * The OSGi framework in a node: bundles come, are checked, are swapped and go; the handlers and converters they publish are passed
 * on. The only user of {@code org.osgi.framework}.
 *
 * <p>A bundle can't take the node down: what it throws, where it hangs and what it leaves behind is bounded and reported.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.osgi.OsgiHost} to run a framework
 *   <li>{@link io.waybill.osgi.BundleControl} to install, update and remove bundles
 *   <li>{@link io.waybill.osgi.LoaderWatch} for class loaders that should be gone
 * </ul>
 */
package io.waybill.osgi;
