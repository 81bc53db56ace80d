/** Recorded calls over time, as a page and in the Trace Event Format. */
package io.waybill.cli.trace;
