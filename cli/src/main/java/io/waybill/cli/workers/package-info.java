/** {@code waybill workers} and {@code waybill rrefs}: who is in a home, and what workers hold for each other. */
package io.waybill.cli.workers;
