/**
 * {@code waybill journal}: looks at the journals of a home.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.cli.journal.JournalCommand} for the subcommands
 * </ul>
 */
package io.waybill.cli.journal;
