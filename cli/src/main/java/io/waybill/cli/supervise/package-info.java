/**
 * {@code waybill up}: runs the nodes that a file lists, each in a separate process, and restarts those that die.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.cli.supervise.Supervisor} for all nodes, {@link io.waybill.cli.supervise.SupervisedNode} for
 *   one
 *   <li>{@link io.waybill.cli.supervise.NodesFile} for the file
 * </ul>
 */
package io.waybill.cli.supervise;
