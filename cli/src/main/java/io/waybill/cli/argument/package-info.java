/**
 * Parser of the arguments of a call on the command line.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.cli.argument.CallArguments} reads all of a call's
 * <li>{@link io.waybill.cli.argument.ValueReader} reads one value, and documents the grammar
 * </ul>
 */
package io.waybill.cli.argument;
