/**
 * {@code waybill journal}: shows and checks the journals of a home.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.cli.journal.JournalCommand} for the subcommands
 * </ul>
 */
package io.waybill.cli.journal;
