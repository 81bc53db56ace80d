/**
 * Runs conformance cases: {@link io.waybill.conformance.harness.FileRun} starts the worker processes of a file and
 * sends them the steps of its cases.
 */
package io.waybill.conformance.harness;
