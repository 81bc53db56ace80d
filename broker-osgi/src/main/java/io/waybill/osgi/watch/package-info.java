/**
 * What the rewritten classes of bundles call when they pass the broker by. Bundles see this package in frameworks that note it, and nothing
 * else of the broker's insides.
 */
package io.waybill.osgi.watch;
