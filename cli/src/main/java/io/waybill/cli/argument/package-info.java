/**
 * Parser of the arguments of a call on the command line.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.cli.argument.CallArguments} parses all arguments of a call
 * <li>{@link io.waybill.cli.argument.ValueReader} parses one value, and documents the grammar
 * </ul>
 */
package io.waybill.cli.argument;
