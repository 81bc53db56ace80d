/**
 * What happens in the process of a worker that cases are played on: {@link io.waybill.cli.conformance.play.PlayedWorker} reads steps
 * from its standard input, and says what came of each.
 */
package io.waybill.cli.conformance.play;
