/**
 * {@code waybill up}: runs the nodes that a file names, each in a process of its own, and starts those again that die.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.cli.supervise.Supervisor} for all nodes, {@link io.waybill.cli.supervise.SupervisedNode} for one
 *   <li>{@link io.waybill.cli.supervise.NodesFile} for what is read
 * </ul>
 */
package io.waybill.cli.supervise;
