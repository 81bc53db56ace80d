/**
 * Formats of results: text for people, JSON for programs.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.cli.show.ValueText} and {@link io.waybill.cli.show.ValueJson} show a result
 * <li>{@link io.waybill.cli.show.Table} aligns the columns of a list
 * <li>{@link io.waybill.cli.show.Json} writes a command's JSON
 * </ul>
 */
package io.waybill.cli.show;
