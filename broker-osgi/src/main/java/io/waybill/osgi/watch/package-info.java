/**
 * Callbacks of rewritten bundle classes for unrecorded input. This is the only internal package of the broker that
 * bundles see, and only in frameworks that record unrecorded input.
 */
package io.waybill.osgi.watch;
