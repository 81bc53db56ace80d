/**
 * The demo: the main job on real input, with real processes, in a temporary directory.
 *
 * <h2>Starting point</h2> {@link io.waybill.cli.demo.Demo} runs it from start to end.
 */
package io.waybill.cli.demo;
