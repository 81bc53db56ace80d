package io.waybill.worker.call;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Request;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Deadlines of timeouts at the ends of what a number holds. */
@Timeout(60)
class CallSettingsTest {

    private static final long NOW_NS = 1_000;

    @Test
    void aDeadlineIsTheTimeoutFromNowOn() {
        assertThat(CallSettings.deadlineNs(NOW_NS, 5)).isEqualTo(1_005);
        assertThat(CallSettings.deadlineNs(NOW_NS, Request.NO_TIMEOUT))
                .as("none")
                .isZero();
    }

    @Test
    void aMaxTimeoutDoesNotEndInThePast() {
        assertThat(CallSettings.deadlineNs(NOW_NS, Long.MAX_VALUE)).isEqualTo(Long.MAX_VALUE);
        assertThat(CallSettings.deadlineNs(NOW_NS, Long.MAX_VALUE - NOW_NS)).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void aDeadlineInThePastIsNotNone() {
        assertThat(CallSettings.deadlineNs(NOW_NS, -NOW_NS)).isPositive().isLessThan(NOW_NS);
        assertThat(CallSettings.deadlineNs(NOW_NS, -5_000)).isPositive().isLessThan(NOW_NS);
    }
}
