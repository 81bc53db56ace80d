package io.waybill.rref.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(10)
class ControlRetriesTest {

    @Test
    void waitAsPyTorchDoesWhenNothingIsSaid() {
        ControlRetries retries = ControlRetries.DEFAULTS;
        assertThat(IntStream.range(0, retries.count()).mapToLong(n -> retries.waitNs(n) / 1000))
                .containsExactly(1_000_000L, 1_000_000L, 1_500_000L, 2_250_000L, 3_375_000L);
    }

    @Test
    void giveAnAttemptAsLongAsACallAndNeverForEver() {
        Duration second = Duration.ofSeconds(1);
        assertThat(ControlRetries.DEFAULTS.attemptTimeout(second)).isEqualTo(second);
        assertThat(ControlRetries.DEFAULTS.attemptTimeout(Duration.ZERO))
                .isEqualTo(ControlRetries.ATTEMPT_TIMEOUT_DEFAULT);
        assertThat(new ControlRetries(5, second, second, second).attemptTimeout(Duration.ofMinutes(1)))
                .isEqualTo(second);
    }

    @Test
    void refuseWaitsOfNothingAndRetriesWithoutNumber() {
        Duration second = Duration.ofSeconds(1);
        assertThatThrownBy(() -> new ControlRetries(21, second, second, second))
                .hasMessage("retries must be 0..20: 21");
        assertThatThrownBy(() -> new ControlRetries(-1, second, second, second))
                .hasMessage("retries must be 0..20: -1");
        assertThatThrownBy(() -> new ControlRetries(1, Duration.ZERO, second, second))
                .hasMessage("the waits between retries must be positive: PT0S, PT1S");
        assertThatThrownBy(() -> new ControlRetries(1, second, Duration.ZERO, second))
                .hasMessage("the waits between retries must be positive: PT1S, PT0S");
    }
}
