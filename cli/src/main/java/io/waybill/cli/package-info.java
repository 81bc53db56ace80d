/**
 * The {@code waybill} command: one class per subcommand, and shared parts.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.cli.Main} is the launcher's entry point, and the only class that reads the environment and
 *   system properties
 *   <li>{@link io.waybill.cli.Commands} lists the subcommands
 *   <li>{@link io.waybill.cli.call.CallCommand} is a typical one
 * </ul>
 */
package io.waybill.cli;
