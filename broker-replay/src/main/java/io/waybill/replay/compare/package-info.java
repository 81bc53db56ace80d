/**
 * Comparison of responses: bytes, values, and elements of tensors.
 *
 * <p>{@link io.waybill.replay.compare.ContentComparison} is the starting point.
 */
package io.waybill.replay.compare;
