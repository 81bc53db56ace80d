package io.waybill.worker.poll;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** When calls in flight are checked for timeouts. */
@Timeout(60)
class DeadlinesTest {

    private final Deadlines deadlines = new Deadlines();

    @Test
    void onlyAnEarlierDeadlineIsNews() {
        assertThat(deadlines.add(200)).as("the first").isTrue();
        assertThat(deadlines.add(300)).as("a later one").isFalse();
        assertThat(deadlines.add(200)).as("the same").isFalse();
        assertThat(deadlines.add(100)).as("an earlier one").isTrue();
        assertThat(deadlines.earliestNs()).isEqualTo(100);
    }

    @Test
    void aCallWithoutADeadlineIsNeverDue() {
        assertThat(deadlines.add(0)).isFalse();
        assertThat(deadlines.earliestNs()).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void whatIsAddedAfterARestartCounts() {
        deadlines.add(100);
        deadlines.restart();
        assertThat(deadlines.earliestNs()).isEqualTo(Long.MAX_VALUE);
        assertThat(deadlines.add(300)).isTrue();
        assertThat(deadlines.earliestNs()).isEqualTo(300);
    }
}
