/** Service interfaces for bundles that decide who may call what, and which bundles a node installs. */
@Version("1.2.0")
package io.waybill.api.policy;

import org.osgi.annotation.versioning.Version;
