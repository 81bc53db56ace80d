/**
 * The local half of distributed autograd: what one worker knows of one context, and its part of a backward pass. It knows no messages and no
 * broker: its caller carries gradients between workers.
 *
 * <p>Start with {@link io.waybill.autograd.graph.ContextGraph}: it records which tensors were sent and received. A
 * {@link io.waybill.autograd.graph.BackwardPass} walks libtorch's graph from there and runs its nodes as their gradients arrive.
 */
package io.waybill.autograd.graph;
