/**
 * How distributed optimizers work. {@link io.waybill.autograd.step.OwnersOptimizer} is the side of the program, {@link io.waybill.autograd.step.OptimizerTable}
 * that of an owner of parameters, and {@link io.waybill.autograd.step.LocalOptimizer} one of libtorch's optimizers there.
 */
package io.waybill.autograd.step;
