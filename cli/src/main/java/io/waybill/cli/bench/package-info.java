/**
 * {@code waybill bench}: {@link io.waybill.cli.bench.BenchCommand} runs the measurements that
 * {@link io.waybill.cli.bench.BenchTable} lists.
 */
package io.waybill.cli.bench;
