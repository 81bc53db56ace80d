package io.waybill.osgi;

/**
 * The operation on a bundle that runs now. Operations run one at a time, so others wait for it. Immutable.
 *
 * @param what description, such as {@code install org.acme.word-count 1.0.0}
 * @param sinceWallNs time at which it began, after earlier operations had finished
 */
public record BundleOperation(String what, long sinceWallNs) {}
