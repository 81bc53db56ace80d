/**
 * {@code waybill workers} and {@code waybill rrefs}: the workers of a home, and the values that they hold for each
 * other.
 */
package io.waybill.cli.workers;
