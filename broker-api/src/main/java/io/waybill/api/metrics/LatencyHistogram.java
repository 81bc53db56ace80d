package io.waybill.api.metrics;

import java.util.Arrays;

/**
 * Number of latencies in each of {@value #BUCKETS} buckets, with their sum and maximum. Immutable.
 *
 * <p>Buckets are 16 ns wide below 256 ns; above, each power of two is divided into 16 buckets of equal width, so a
 * bucket is at most 1/16 of its values wide. The last one also counts everything from 2^42 ns (73 minutes) on.
 */
public final class LatencyHistogram {

    /** Number of buckets. */
    public static final int BUCKETS = 560;

    /** The histogram without latencies. */
    public static final LatencyHistogram EMPTY = new LatencyHistogram(new long[0], 0, 0);

    private static final int PARTS = 16; // buckets per power of two
    private static final int PART_BITS = 4;
    private static final int LINEAR_BITS = 8; // below 2^8 ns the buckets are equal

    private final long[] counts; // up to the last nonzero count
    private final long count;
    private final long sumNs;
    private final long maxNs;

    private LatencyHistogram(long[] counts, long sumNs, long maxNs) {
        this.counts = counts;
        long total = 0;
        for (long each : counts) {
            total += each;
        }
        this.count = total;
        this.sumNs = sumNs;
        this.maxNs = maxNs;
    }

    /**
     * Creates a histogram.
     *
     * @param counts counts of the buckets, starting with the first; missing ones are 0
     * @param sumNs of all latencies
     * @param maxNs the highest latency
     * @throws IllegalArgumentException if there are more counts than buckets, or a number is negative
     */
    public static LatencyHistogram of(long[] counts, long sumNs, long maxNs) {
        if (counts.length > BUCKETS) {
            throw new IllegalArgumentException(
                    "a histogram has at most " + BUCKETS + " buckets: found " + counts.length);
        }
        int used = 0;
        for (int i = 0; i < counts.length; i++) {
            if (counts[i] < 0) {
                throw new IllegalArgumentException("a count is 0 or more: found " + counts[i] + " in bucket " + i);
            }
            used = counts[i] > 0 ? i + 1 : used;
        }
        if (sumNs < 0 || maxNs < 0) {
            throw new IllegalArgumentException(
                    "sum and maximum are 0 or more: found " + sumNs + " and " + maxNs + " ns");
        }
        return used == 0 ? EMPTY : new LatencyHistogram(Arrays.copyOf(counts, used), sumNs, maxNs);
    }

    /** Returns the bucket of a latency; a negative one counts as 0. */
    public static int bucketOf(long ns) {
        if (ns < 1L << LINEAR_BITS) {
            return ns < 0 ? 0 : (int) ns >> PART_BITS;
        }
        int power = Long.SIZE - 1 - Long.numberOfLeadingZeros(ns);
        int bucket = PARTS * (power - LINEAR_BITS + 1) + ((int) (ns >>> power - PART_BITS) & PARTS - 1);
        return Math.min(bucket, BUCKETS - 1);
    }

    /** Returns the lowest latency of a bucket. */
    public static long lowerNs(int bucket) {
        if (bucket < 0 || bucket >= BUCKETS) {
            throw new IllegalArgumentException("a bucket is 0 to " + (BUCKETS - 1) + ": " + bucket);
        }
        if (bucket < PARTS) {
            return (long) bucket << PART_BITS;
        }
        int power = bucket / PARTS - 1 + LINEAR_BITS;
        return (long) (PARTS + bucket % PARTS) << power - PART_BITS;
    }

    /** Returns the highest latency of a bucket; {@link Long#MAX_VALUE} for the last bucket. */
    public static long upperNs(int bucket) {
        return bucket == BUCKETS - 1 ? Long.MAX_VALUE : lowerNs(bucket + 1) - 1;
    }

    /** Returns the number of latencies. */
    public long count() {
        return count;
    }

    /** Returns the number of latencies in one bucket. */
    public long count(int bucket) {
        return bucket < counts.length ? counts[bucket] : 0;
    }

    /** Returns the number of buckets up to the last nonempty one. */
    public int usedBuckets() {
        return counts.length;
    }

    public long sumNs() {
        return sumNs;
    }

    /** Returns the highest latency; 0 if there are none. After {@link #minus} it is the upper end of its bucket. */
    public long maxNs() {
        return maxNs;
    }

    /**
     * Returns a percentile: the upper end of its bucket, at most the maximum; 0 if there are no latencies.
     *
     * @param percent above 0, up to 100
     */
    public long percentileNs(double percent) {
        if (!(percent > 0 && percent <= 100)) {
            throw new IllegalArgumentException("a percentile is above 0, and 100 at most: " + percent);
        }
        long rank = Math.max(1, (long) Math.ceil(count * (percent / 100)));
        long below = 0;
        for (int i = 0; i < counts.length; i++) {
            below += counts[i];
            if (below >= rank) {
                return Math.min(upperNs(i), maxNs);
            }
        }
        return 0;
    }

    /** Returns the sum of both histograms. */
    public LatencyHistogram plus(LatencyHistogram other) {
        LatencyHistogram longer = counts.length >= other.counts.length ? this : other;
        LatencyHistogram shorter = longer == this ? other : this;
        long[] sums = longer.counts.clone();
        for (int i = 0; i < shorter.counts.length; i++) {
            sums[i] += shorter.counts[i];
        }
        return new LatencyHistogram(sums, sumNs + other.sumNs, Math.max(maxNs, other.maxNs));
    }

    /**
     * Returns the histogram of the latencies since an earlier state of this one; this histogram if the argument is no
     * earlier state, such as one of an earlier incarnation.
     */
    public LatencyHistogram minus(LatencyHistogram earlier) {
        long[] rest = counts.clone();
        int used = 0;
        for (int i = 0; i < Math.max(counts.length, earlier.counts.length); i++) {
            long left = count(i) - earlier.count(i);
            if (left < 0) {
                return this;
            }
            if (left > 0) {
                used = i + 1;
            }
            if (i < rest.length) {
                rest[i] = left;
            }
        }
        return used == 0
                ? EMPTY
                : new LatencyHistogram(
                        Arrays.copyOf(rest, used),
                        Math.max(0, sumNs - earlier.sumNs),
                        Math.min(maxNs, upperNs(used - 1)));
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof LatencyHistogram same
                && sumNs == same.sumNs
                && maxNs == same.maxNs
                && Arrays.equals(counts, same.counts);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(counts);
    }

    @Override
    public String toString() {
        return count == 0
                ? "no latency"
                : count + " latencies, p50 " + percentileNs(50) + " ns, p99 " + percentileNs(99) + " ns, max " + maxNs
                        + " ns";
    }
}
