package io.waybill.api.state;

/**
 * Number and size of the entries of a {@link StateStore}.
 *
 * @param entries number of entries
 * @param bytes total size, as {@link StateEntry#bytes} counts it
 * @param evicted number of entries that the store's {@link StatePolicy} has removed since the worker joined
 */
public record StateUsage(int entries, long bytes, long evicted) {}
