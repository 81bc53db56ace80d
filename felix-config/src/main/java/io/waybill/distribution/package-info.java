/**
 * Parts of the distribution that the build creates from other modules: the book as HTML, manual pages, a repository for
 * Maven, and class files that the JVM can archive. Runs in Maven's JVM and is not packed. Start with
 * {@link io.waybill.distribution.Parts}.
 */
package io.waybill.distribution;
