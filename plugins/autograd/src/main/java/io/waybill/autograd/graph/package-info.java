/**
 * Local half of distributed autograd: the state of one context in one worker, and its part of a backward pass. It is
 * independent of messages and of the broker: its caller transports gradients between workers.
 *
 * <p>Start with {@link io.waybill.autograd.graph.ContextGraph}: it records the sent and received tensors. A
 * {@link io.waybill.autograd.graph.BackwardPass} traverses libtorch's graph from there and runs its nodes as their
 * gradients arrive.
 */
package io.waybill.autograd.graph;
