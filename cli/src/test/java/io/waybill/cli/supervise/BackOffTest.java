package io.waybill.cli.supervise;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(10)
class BackOffTest {

    private static final Duration SOON = Duration.ofMillis(1);
    private final BackOff backOff =
            new BackOff(new RestartSettings(Duration.ofMillis(200), Duration.ofMillis(1000), Duration.ofSeconds(60)));

    @Test
    void doublesUpToTheMax() {
        assertThat(backOff.after(SOON)).isEqualTo(Duration.ofMillis(200));
        assertThat(backOff.after(SOON)).isEqualTo(Duration.ofMillis(400));
        assertThat(backOff.after(SOON)).isEqualTo(Duration.ofMillis(800));
        assertThat(backOff.after(SOON)).isEqualTo(Duration.ofMillis(1000));
        assertThat(backOff.after(SOON)).isEqualTo(Duration.ofMillis(1000));
    }

    @Test
    void startsOverForWhatRanForAWhile() {
        backOff.after(SOON);
        backOff.after(SOON);
        assertThat(backOff.after(Duration.ofSeconds(60))).isEqualTo(Duration.ofMillis(200));
        assertThat(backOff.after(SOON)).isEqualTo(Duration.ofMillis(400));
    }

    @Test
    void refusesWaitsThatAreNone() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new RestartSettings(Duration.ZERO, SOON, SOON))
                .withMessageContaining("restart.first-wait");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new RestartSettings(Duration.ofSeconds(1), SOON, SOON))
                .withMessageContaining("restart.longest-wait");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new RestartSettings(SOON, SOON, SOON.negated()))
                .withMessageContaining("restart.steady-after");
    }
}
