/**
 * libtorch for bundles: {@link io.waybill.torch.LibTorch} loads its native libraries. The classes to call it with are
 * those of {@code org.bytedeco.pytorch}, which this bundle exports.
 *
 * <p>{@link io.waybill.torch.NativeTensors} converts between tensors of messages and libtorch's, and lets bundles pass
 * live tensors with their graph to one another, as {@link io.waybill.torch.NativeTensor}.
 *
 * <p>{@link io.waybill.torch.OperatorEvents} notifies of the operators that libtorch runs.
 */
@Version("1.0.0")
package io.waybill.torch;

import org.osgi.annotation.versioning.Version;
