/**
 * Distributed optimizers, as in {@code torch.distributed.optim}. Start at
 * {@link io.waybill.autograd.optim.DistributedOptimizer}; its algorithms are
 * {@link io.waybill.autograd.optim.OptimizerSettings}.
 */
@Version("0.1.0")
package io.waybill.autograd.optim;

import org.osgi.annotation.versioning.Version;
