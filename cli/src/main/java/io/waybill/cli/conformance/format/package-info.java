/**
 * What a file of conformance cases says, checked: {@link io.waybill.cli.conformance.format.CaseFile} is where to start. The format is
 * described in {@code docs/reference/conformance-format.md}.
 *
 * <p>Everything here is immutable. Files are not trusted: sizes, depths and counts are bounded, and an unknown word is an error.
 */
package io.waybill.cli.conformance.format;
