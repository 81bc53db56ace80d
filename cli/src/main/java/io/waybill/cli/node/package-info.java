/**
 * A node: a worker with an OSGi framework in it, as a process.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.cli.node.Node} wires it, top to bottom
 *   <li>{@link io.waybill.cli.node.NodeConf} is the directory that an operator edits
 * </ul>
 */
package io.waybill.cli.node;
