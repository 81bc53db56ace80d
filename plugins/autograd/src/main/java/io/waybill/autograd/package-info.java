/**
 * Distributed autograd: differentiates computations that span workers, like {@code torch.distributed.autograd}.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.autograd.DistAutograd} for programs and bundles that differentiate
 *   <li>{@link io.waybill.autograd.optim.DistributedOptimizer} for parameters that other workers own
 *   <li>{@link io.waybill.autograd.Autograd} to use it in a worker without OSGi
 * </ul>
 */
@Version("0.1.0")
package io.waybill.autograd;

import org.osgi.annotation.versioning.Version;
