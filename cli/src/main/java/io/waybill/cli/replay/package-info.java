/**
 * {@code waybill replay}: recorded calls run again, and what came of it in words.
 *
 * <p>{@link io.waybill.cli.replay.ReplayCommand} is where to start.
 */
package io.waybill.cli.replay;
