package io.waybill.worker.poll;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** When threads that wait sleep at once. */
@Timeout(60)
class SpinBalanceTest {

    private static final long MS = 1_000_000;

    private final SpinBalance balance = new SpinBalance(PollTimes.of(Waiting.BALANCED));

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
    void losesAndSleepsAsLongAsIsSet() {
        PollTimes set = new PollTimes(
                Waiting.BALANCED,
                PollTimes.AUTO,
                PollTimes.AUTO,
                0,
                10_000,
                10_000,
                MS,
                MS,
                9 * MS,
                30 * MS,
                40 * MS,
                MS);
        SpinBalance slow = new SpinBalance(set);
        slow.lost(9 * MS, 0);
        assertThat(slow.sleepsAtOnce(0)).as("after what an attempt may lose").isFalse();
        slow.lost(1, 0);
        assertThat(slow.sleepsAtOnce(30 * MS - 1)).as("within the first rest").isTrue();
        assertThat(slow.sleepsAtOnce(30 * MS)).as("after it").isFalse();
        slow.lost(10 * MS, 30 * MS);
        assertThat(slow.sleepsAtOnce(70 * MS - 1)).as("within the longest one").isTrue();
        assertThat(slow.sleepsAtOnce(70 * MS)).as("after it").isFalse();
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
