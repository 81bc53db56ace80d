package io.waybill.api.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Buckets, percentiles and differences of {@link LatencyHistogram}, against exact computations. */
class LatencyHistogramTest {

    private static final double[] PERCENTS = {0.1, 1, 10, 50, 90, 99, 99.9, 100};

    private static LatencyHistogram histogram(long... latencies) {
        long[] counts = new long[LatencyHistogram.BUCKETS];
        long sum = 0;
        long max = 0;
        for (long ns : latencies) {
            counts[LatencyHistogram.bucketOf(ns)]++;
            sum += ns;
            max = Math.max(max, ns);
        }
        return LatencyHistogram.of(counts, sum, max);
    }

    private static long[] latencies(long seed, int count) {
        Random random = new Random(seed);
        long[] latencies = new long[count];
        for (int i = 0; i < count; i++) {
            latencies[i] = (long) Math.exp(random.nextDouble() * Math.log(1L << 41));
        }
        return latencies;
    }

    @Test
    void coversEachLatencyWithOneBucket() {
        assertThat(LatencyHistogram.lowerNs(0)).isZero();
        for (int i = 0; i < LatencyHistogram.BUCKETS; i++) {
            long lower = LatencyHistogram.lowerNs(i);
            assertThat(LatencyHistogram.bucketOf(lower)).isEqualTo(i);
            assertThat(LatencyHistogram.bucketOf(LatencyHistogram.upperNs(i))).isEqualTo(i);
            if (i > 0) {
                assertThat(LatencyHistogram.upperNs(i - 1)).isEqualTo(lower - 1);
            }
            if (i >= 16 && i < LatencyHistogram.BUCKETS - 1) {
                assertThat(16 * (LatencyHistogram.upperNs(i) - lower)).isLessThan(lower);
            }
        }
        assertThat(LatencyHistogram.bucketOf(-5)).isZero();
        assertThat(LatencyHistogram.upperNs(LatencyHistogram.BUCKETS - 2)).isEqualTo((1L << 42) - (1L << 37) - 1);
    }

    @Test
    void findsPercentilesWithinABucketOfTheExactOnes() {
        for (long seed = 0; seed < 20; seed++) {
            long[] latencies = latencies(seed, 1 + (int) seed * 997);
            LatencyHistogram histogram = histogram(latencies);
            Arrays.sort(latencies);
            for (double percent : PERCENTS) {
                long exact = latencies[(int) Math.max(0, Math.ceil(latencies.length * (percent / 100)) - 1)];
                long found = histogram.percentileNs(percent);
                assertThat(found)
                        .as("p%s of seed %s", percent, seed)
                        .isBetween(exact, Math.max(exact + 15, exact + exact / 16));
            }
            assertThat(histogram.percentileNs(100)).isEqualTo(histogram.maxNs());
            assertThat(histogram.count()).isEqualTo(latencies.length);
        }
    }

    @Test
    void isTheSumOfItsParts() {
        LatencyHistogram early = histogram(latencies(1, 500));
        LatencyHistogram late = histogram(latencies(2, 300));
        LatencyHistogram both = early.plus(late);
        assertThat(both).isEqualTo(late.plus(early));
        assertThat(both.count()).isEqualTo(800);
        LatencyHistogram difference = both.minus(early);
        assertThat(difference.sumNs()).isEqualTo(late.sumNs());
        for (int i = 0; i < LatencyHistogram.BUCKETS; i++) {
            assertThat(difference.count(i)).isEqualTo(late.count(i));
        }
        assertThat(both.minus(both)).isEqualTo(LatencyHistogram.EMPTY);
        assertThat(both.minus(LatencyHistogram.EMPTY)).isEqualTo(both);
    }

    @Test
    void hasTheMaximumOfWhatIsLeft() {
        LatencyHistogram difference = histogram(1_000_000, 500).minus(histogram(1_000_000));
        assertThat(difference.count()).isEqualTo(1);
        assertThat(difference.maxNs())
                .isBetween(500L, LatencyHistogram.upperNs(LatencyHistogram.bucketOf(500)))
                .isEqualTo(difference.percentileNs(50));
    }

    @Test
    void beginsFromScratchAfterAnotherIncarnation() {
        LatencyHistogram now = histogram(700, 800);
        assertThat(now.minus(histogram(700, 800, 900))).isSameAs(now);
        assertThat(now.minus(histogram(1_000_000))).isSameAs(now);
    }

    @Test
    void refusesWhatIsNoHistogram() {
        assertThatIllegalArgumentException().isThrownBy(() -> LatencyHistogram.of(new long[561], 0, 0));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LatencyHistogram.of(new long[] {0, -1}, 0, 0))
                .withMessageContaining("-1 in bucket 1");
        assertThatIllegalArgumentException().isThrownBy(() -> LatencyHistogram.of(new long[] {1}, -1, 0));
        assertThatIllegalArgumentException().isThrownBy(() -> LatencyHistogram.EMPTY.percentileNs(0));
        assertThat(LatencyHistogram.EMPTY.percentileNs(99)).isZero();
    }
}
