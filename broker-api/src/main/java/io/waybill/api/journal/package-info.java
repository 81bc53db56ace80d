/**
 * The recorded calls of a home, for programs and bundles that only read them. {@link io.waybill.api.journal.Journals}
 * is the entry.
 */
@Version("0.1.0")
package io.waybill.api.journal;

import org.osgi.annotation.versioning.Version;
