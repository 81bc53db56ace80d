/**
 * Implementation of distributed optimizers. {@link io.waybill.autograd.step.OwnersOptimizer} is the program's side,
 * {@link io.waybill.autograd.step.OptimizerTable} the side of an owner of parameters, and
 * {@link io.waybill.autograd.step.LocalOptimizer} one of libtorch's optimizers there.
 */
package io.waybill.autograd.step;
