/** Tensors, their storages, and the devices that hold them. */
@Version("1.0.0")
package io.waybill.api.tensor;

import org.osgi.annotation.versioning.Version;
