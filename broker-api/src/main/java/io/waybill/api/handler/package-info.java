/** What a bundle implements to answer messages, and what it is handed for that. */
@Version("2.0.0")
package io.waybill.api.handler;

import org.osgi.annotation.versioning.Version;
