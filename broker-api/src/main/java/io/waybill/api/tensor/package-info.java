/** Tensors, their storages, and the devices that hold them. */
@Version("2.3.1")
package io.waybill.api.tensor;

import org.osgi.annotation.versioning.Version;
