/**
 * An application of several programs under a load that does not wait for it: {@link io.waybill.bench.app.Application}
 * is the place to start.
 */
package io.waybill.bench.app;
