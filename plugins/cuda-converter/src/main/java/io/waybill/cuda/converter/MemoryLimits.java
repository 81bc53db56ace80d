package io.waybill.cuda.converter;

/**
 * How much memory of each device is used.
 *
 * @param maxBytes in use and cached; 0 for as much as there is
 * @param maxCachedBytes kept for later use
 */
record MemoryLimits(long maxBytes, long maxCachedBytes) {

    MemoryLimits {
        if (maxBytes < 0 || maxCachedBytes < 0) {
            throw new IllegalArgumentException(
                    "limits of device memory must not be negative: " + maxBytes + ", " + maxCachedBytes);
        }
    }
}
