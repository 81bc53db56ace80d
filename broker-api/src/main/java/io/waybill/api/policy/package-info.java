/** Service interface for bundles that decide who may call what. */
@Version("1.1.0")
package io.waybill.api.policy;

import org.osgi.annotation.versioning.Version;
