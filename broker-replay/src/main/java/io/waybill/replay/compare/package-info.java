/**
 * Where two answers part: their bytes, values, and elements of tensors.
 *
 * <p>{@link io.waybill.replay.compare.ContentComparison} is where to start.
 */
package io.waybill.replay.compare;
