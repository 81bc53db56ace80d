package io.waybill.bench.measure;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(60)
class WorkTest {

    private final byte[] message = new byte[64];

    @Test
    void leavesAMessageWithoutWorkAsItIs() {
        Work.NONE.perform(message);

        assertThat(message).containsOnly(0);
        assertThat(Work.NONE.takenNs(message)).isZero();
    }

    @ParameterizedTest
    @CsvSource({"2000, 0, 2000", "0, 2000, 2000", "1000, 1000, 2000"})
    void reportsHowLongItTookAtLeast(int workMicros, int sleepMicros, long micros) {
        Work work = new Work(workMicros, sleepMicros);

        work.perform(message);

        assertThat(work.takenNs(message)).isGreaterThanOrEqualTo(micros * 1_000);
    }
}
