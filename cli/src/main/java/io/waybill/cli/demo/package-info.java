/**
 * The demo: the main job on real input, with real processes, in a directory that goes away.
 *
 * <h2>Starting point</h2>
 * {@link io.waybill.cli.demo.Demo} tells the story from start to end.
 */
package io.waybill.cli.demo;
