package io.waybill.osgi;

/**
 * An operation on a bundle that runs now: operations run one at a time, so others wait for it. Immutable.
 *
 * @param what it does, such as {@code install org.acme.word-count 1.0.0}
 * @param sinceWallNs when it began, after those before it had ended
 */
public record BundleOperation(String what, long sinceWallNs) {}
