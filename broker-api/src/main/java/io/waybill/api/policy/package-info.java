/** Service interfaces for bundles that decide who may call what, and which bundles a node installs. */
@Version("0.1.0")
package io.waybill.api.policy;

import org.osgi.annotation.versioning.Version;
