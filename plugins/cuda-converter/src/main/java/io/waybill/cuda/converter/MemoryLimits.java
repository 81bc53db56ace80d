package io.waybill.cuda.converter;

/**
 * Limits of the memory on each device.
 *
 * @param maxBytes max used and cached memory; 0 for no limit
 * @param maxCachedBytes max cached memory
 */
record MemoryLimits(long maxBytes, long maxCachedBytes) {

    MemoryLimits {
        if (maxBytes < 0 || maxCachedBytes < 0) {
            throw new IllegalArgumentException(
                    "limits of device memory must not be negative: " + maxBytes + ", " + maxCachedBytes);
        }
    }
}
