package io.waybill.autograd.graph;

import org.bytedeco.pytorch.Tensor;

/**
 * A leaf of the graph and its gradient.
 *
 * @param leaf that requires grad: a new object of libtorch's tensor
 * @param gradient the sum over all passes of the context: a new object, too
 */
public record LeafGradient(Tensor leaf, Tensor gradient) {}
