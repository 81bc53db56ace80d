package io.waybill.tensor.segment;

import io.waybill.host.Host;
import io.waybill.tensor.memory.Pages;

/**
 * Settings of tensors in transit.
 *
 * @param segmentBytes size of a segment file; a larger storage gets a separate file. A multiple of 4096
 * @param totalBytes max size of all segment files of a worker
 * @param inlineBytes max size of a storage that travels in the record itself
 * @param inlineTotalBytes max bytes of storages in one record
 */
public record TensorConfig(long segmentBytes, long totalBytes, int inlineBytes, int inlineTotalBytes) {

    public static final long SEGMENT_BYTES_DEFAULT = 64L << 20;
    /** Default of {@code totalBytes}: half of the memory that this process may use. */
    public static final long TOTAL_BYTES_DEFAULT = Math.max(SEGMENT_BYTES_DEFAULT, Host.memoryBytes() / 2);

    public static final int INLINE_BYTES_DEFAULT = 4 << 10;
    public static final int INLINE_TOTAL_BYTES_DEFAULT = 64 << 10;
    private static final int INLINE_BYTES_MAX = 16 << 20;

    public static final TensorConfig DEFAULTS = new TensorConfig(
            SEGMENT_BYTES_DEFAULT, TOTAL_BYTES_DEFAULT, INLINE_BYTES_DEFAULT, INLINE_TOTAL_BYTES_DEFAULT);

    public TensorConfig {
        if (segmentBytes < Pages.SIZE || segmentBytes % Pages.SIZE != 0) {
            throw new IllegalArgumentException(
                    "tensor.segment-bytes must be a multiple of " + Pages.SIZE + ": " + segmentBytes);
        }
        if (totalBytes < segmentBytes) {
            throw new IllegalArgumentException(
                    "tensor.total-bytes must be at least tensor.segment-bytes, " + segmentBytes + ": " + totalBytes);
        }
        if (inlineBytes < 0 || inlineTotalBytes < inlineBytes || inlineTotalBytes > INLINE_BYTES_MAX) {
            throw new IllegalArgumentException(
                    "tensor.inline-bytes must be at least 0, tensor.inline-total-bytes from that" + " up to "
                            + INLINE_BYTES_MAX + ": " + inlineBytes + " and " + inlineTotalBytes);
        }
    }
}
