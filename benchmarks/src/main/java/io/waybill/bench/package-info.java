/**
 * End-to-end measurements: Waybill between real processes, beside the raw limit of the same machine in the same run.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.bench.RoundTrip} and its neighbours: one class per measurement, each with a {@code run} that
 *   gives figures
 *   <li>{@link io.waybill.bench.BenchProcess}: what the child processes run
 * </ul>
 */
package io.waybill.bench;
