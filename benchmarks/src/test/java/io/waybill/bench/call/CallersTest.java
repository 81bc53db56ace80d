package io.waybill.bench.call;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.bench.measure.Figures;
import io.waybill.bench.measure.Percentiles;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class CallersTest {

    @Test
    void addsUpWhatCallersReached() throws IOException {
        Figures together = Callers.together(List.of(caller(300, 1_000, 2), caller(100, 5_000, 6)));

        assertThat(together.integer("calls_per_s")).isEqualTo(400);
        assertThat(together.integer("least_calls_per_s")).isEqualTo(100);
        assertThat(together.number("least_share")).isEqualTo(0.5);
        assertThat(together.integer("mean_ns")).isBetween(1_990L, 2_010L);
        assertThat(together.number("wakeups_per_call")).as("of the mean call").isEqualTo(3);
        assertThat(together.integer("served_cpu_ns_per_call"))
                .as("what the first one saw, over the calls of all")
                .isEqualTo(7_500);
    }

    /** The figures of a caller in a second. */
    private static Figures caller(long calls, long ns, double wakeups) {
        Histogram times = new Histogram(TimeUnit.MINUTES.toNanos(1), 3);
        times.recordValueWithCount(ns, calls);
        return Figures.parse(new Figures()
                .put("calls_per_s", calls)
                .put("cpu_ns_per_call", 4_000)
                .put("wakeups_per_call", wakeups)
                .put("preemptions_per_call", 0.0)
                .put("served_cpu_ns_per_call", 10_000)
                .put("served_wakeups_per_call", 1.0)
                .put("served_preemptions_per_call", 0.0)
                .put("times", Percentiles.encode(times))
                .line());
    }
}
