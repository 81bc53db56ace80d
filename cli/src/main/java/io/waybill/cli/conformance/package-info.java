/**
 * Runs cases written in a language-neutral form on workers in processes of their own: {@link
 * io.waybill.cli.conformance.ConformanceRun} is where to start.
 */
package io.waybill.cli.conformance;
