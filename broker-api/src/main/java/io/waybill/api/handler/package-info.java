/** Service interfaces for bundles that respond to messages. */
@Version("1.0.0")
package io.waybill.api.handler;

import org.osgi.annotation.versioning.Version;
