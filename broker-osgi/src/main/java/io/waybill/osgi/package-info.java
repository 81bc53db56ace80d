/**
 * The OSGi framework of a node: installs, checks, replaces and removes bundles, and registers their handlers and
 * converters. The only user of {@code org.osgi.framework}.
 *
 * <p>A bundle can't stop the node: its exceptions, hangs and leaks are bounded and reported.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.osgi.OsgiHost} to run a framework
 * <li>{@link io.waybill.osgi.BundleControl} to install, update and remove bundles
 * <li>{@link io.waybill.osgi.LoaderWatch} for leaked class loaders
 * </ul>
 */
package io.waybill.osgi;
