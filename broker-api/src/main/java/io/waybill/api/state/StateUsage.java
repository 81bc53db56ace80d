package io.waybill.api.state;

/**
 * How much there is in a {@link StateStore}.
 *
 * @param entries number of entries
 * @param bytes as {@link StateEntry#bytes} counts them
 * @param evicted number of entries that the store's {@link StatePolicy} has removed since the worker joined
 */
public record StateUsage(int entries, long bytes, long evicted) {}
