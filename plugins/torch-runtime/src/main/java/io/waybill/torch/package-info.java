/**
 * libtorch for bundles: {@link io.waybill.torch.LibTorch} loads its native libraries once per process. The classes to call it with are
 * those of {@code org.bytedeco.pytorch}, which this bundle exports.
 */
@Version("1.0.0")
package io.waybill.torch;

import org.osgi.annotation.versioning.Version;
