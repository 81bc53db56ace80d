/**
 * {@code waybill replay}: runs recorded calls again, and reports the results.
 *
 * <p>{@link io.waybill.cli.replay.ReplayCommand} is where to start.
 */
package io.waybill.cli.replay;
