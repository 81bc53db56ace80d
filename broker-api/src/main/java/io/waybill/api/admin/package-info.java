/** Administration of running nodes: their bundles, handlers, operations, scripts, references and settings. */
@Version("0.1.0")
package io.waybill.api.admin;

import org.osgi.annotation.versioning.Version;
