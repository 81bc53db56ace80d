package io.waybill.archive;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.host.ManualClock;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** Pieces of a mebibyte take a millisecond each, on a clock of its own. */
class CopyPaceTest {

    private static final long MIB = 1 << 20;

    private final ManualClock clock = new ManualClock();
    private final AtomicLong sent = new AtomicLong();
    private final CopyPace pace = new CopyPace(clock, sent::get, this::pass);
    private long pausedNs;

    private void pass(long ns) {
        pausedNs += ns;
        clock.advance(Duration.ofNanos(ns));
    }

    /** Copies while so much is sent in each millisecond that passes. Returns how long it paused. */
    private Duration copy(int pieces, long sentEachMs) {
        pausedNs = 0;
        for (int i = 0; i < pieces; i++) {
            long beforeNs = clock.monotonicNs();
            pace.next(MIB);
            clock.advance(Duration.ofMillis(1));
            sent.addAndGet(sentEachMs * (clock.monotonicNs() - beforeNs) / 1_000_000);
        }
        pace.rest();
        return Duration.ofNanos(pausedNs);
    }

    @Test
    void copiesWithoutPausesWhatItCanKeep() {
        assertThat(copy(1000, MIB / 2)).isZero();
        assertThat(copy(1000, MIB)).isZero();
    }

    @Test
    void copiesTheLessTheMoreIsSent() {
        copy(200, 2 * MIB);
        assertThat(copy(1000, 2 * MIB)).isEqualTo(Duration.ofMillis(999 * 3)); // the first follows on a rest
        copy(200, 100 * MIB);
        assertThat(copy(1000, 100 * MIB)).isEqualTo(Duration.ofMillis(999 * 19));
    }

    @Test
    void goesOnAtOnceWhenTheFloodIsOver() {
        copy(200, 20 * MIB);
        clock.advance(Duration.ofSeconds(10)); // nothing is sent, nothing to copy

        assertThat(copy(1000, MIB)).isZero();
    }

    /** Nineteen times that would be a pause of minutes. */
    @Test
    void doesNotPauseForTheTimeInWhichOthersHadTheProcessor() {
        copy(200, 100 * MIB);
        pace.next(MIB);
        clock.advance(Duration.ofSeconds(10));
        sent.addAndGet(10_000 * MIB);
        pausedNs = 0;

        pace.next(MIB);

        assertThat(Duration.ofNanos(pausedNs)).isEqualTo(Duration.ofMillis(19 * 5));
    }

    @Test
    void takesABurstForWhatItIs() {
        sent.addAndGet(4 * MIB);
        clock.advance(Duration.ofSeconds(1));

        assertThat(copy(4, 0)).isZero();
    }
}
