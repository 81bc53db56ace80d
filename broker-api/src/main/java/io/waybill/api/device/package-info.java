/** What a bundle implements to move tensors on and off a device. */
@Version("2.0.0")
package io.waybill.api.device;

import org.osgi.annotation.versioning.Version;
