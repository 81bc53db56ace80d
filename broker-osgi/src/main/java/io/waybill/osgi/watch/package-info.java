/**
 * Callbacks of rewritten bundle classes for unrecorded input. Bundles see only this internal package of the broker, and
 * only in frameworks that record it.
 */
package io.waybill.osgi.watch;
