/** Recorded calls as bars over time: waits of workers, runs of handlers, and their causes. */
package io.waybill.query.timeline;
