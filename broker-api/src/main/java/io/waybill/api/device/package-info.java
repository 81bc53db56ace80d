/** Service interfaces for bundles that move tensors to and from a device. */
@Version("1.0.0")
package io.waybill.api.device;

import org.osgi.annotation.versioning.Version;
