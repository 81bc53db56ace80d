/**
 * The local half of a distributed optimizer: {@link io.waybill.autograd.optim.LocalOptimizer} updates parameters on the worker that owns them, with the
 * gradients of one context.
 */
package io.waybill.autograd.optim;
