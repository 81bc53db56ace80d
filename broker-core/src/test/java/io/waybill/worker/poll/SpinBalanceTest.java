package io.waybill.worker.poll;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** When threads that wait sleep at once. */
@Timeout(60)
class SpinBalanceTest {

    private static final long MS = 1_000_000;

    private final SpinBalance balance = new SpinBalance();

    @Test
    void pollsAsLongAsItSavesMoreThanItLoses() {
        for (int i = 0; i < 100; i++) {
            balance.saved();
        }
        balance.lost(8 * MS, MS);
        assertThat(balance.sleepsAtOnce(MS)).isFalse();
        balance.lost(8 * MS, MS);
        assertThat(balance.sleepsAtOnce(MS)).isTrue();
    }

    @Test
    void takesMoreThanOneLostWaitToEndAnAttempt() {
        balance.lost(MS, 0);
        assertThat(balance.sleepsAtOnce(0)).as("the first attempt").isFalse();
        balance.lost(2 * MS, 0);
        assertThat(balance.sleepsAtOnce(0)).isTrue();
        assertThat(balance.sleepsAtOnce(20 * MS)).isFalse();
        balance.lost(MS, 20 * MS);
        assertThat(balance.sleepsAtOnce(20 * MS)).as("the next one").isFalse();
    }

    @Test
    void doesNotCountWhatItSavedLongAgo() {
        for (int i = 0; i < 100_000; i++) {
            balance.saved();
        }
        balance.lost(60 * MS, MS);
        assertThat(balance.sleepsAtOnce(MS)).isTrue();
    }

    @Test
    void sleepsTwiceAsLongEachTimeThatPollingLoses() {
        long nowNs = 0;
        for (long restMs : new long[] {20, 40, 80, 160, 320, 640, 640}) {
            balance.lost(3 * MS, nowNs);
            assertThat(balance.sleepsAtOnce(nowNs + restMs * MS - 1))
                    .as("within %d ms", restMs)
                    .isTrue();
            nowNs += restMs * MS;
            assertThat(balance.sleepsAtOnce(nowNs)).as("after %d ms", restMs).isFalse();
        }
    }

    @Test
    void sleepsBrieflyAgainOnceItHasSavedMuch() {
        balance.lost(3 * MS, 0);
        balance.sleepsAtOnce(20 * MS);
        balance.lost(3 * MS, 20 * MS);
        balance.sleepsAtOnce(60 * MS);
        for (int i = 0; i < 1_000; i++) {
            balance.saved();
        }
        balance.lost(60 * MS, 100 * MS);
        assertThat(balance.sleepsAtOnce(120 * MS)).isFalse();
    }

    @Test
    void doesNotProlongTheRestWhileItSleeps() {
        balance.lost(3 * MS, 0);
        balance.lost(MS, 19 * MS);
        assertThat(balance.sleepsAtOnce(20 * MS)).isFalse();
    }
}
