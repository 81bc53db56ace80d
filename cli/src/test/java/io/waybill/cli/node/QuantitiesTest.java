package io.waybill.cli.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.worker.peer.Overflow;
import io.waybill.worker.poll.Waiting;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(value = 30, unit = TimeUnit.SECONDS)
class QuantitiesTest {

    @ParameterizedTest
    @CsvSource({
        "0,0",
        "5s,5000000000",
        "500ms,500000000",
        "1.5s,1500000000",
        "20us,20000",
        "2m,120000000000",
        "1h,3600000000000",
        "1d,86400000000000"
    })
    void readsTimes(String text, long expectedNs) {
        assertThat(Quantities.duration(text)).isEqualTo(Duration.ofNanos(expectedNs));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "5", "-1s", "s", "1 s", "1e3s", "99999999999s"})
    void refusesOtherTimes(String text) {
        assertThatThrownBy(() -> Quantities.duration(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("such as 500ms");
    }

    @ParameterizedTest
    @CsvSource({"0,0", "4096,4096", "1KiB,1024", "64MiB,67108864", "2GiB,2147483648", "1TiB,1099511627776"})
    void readsSizes(String text, long expected) {
        assertThat(Quantities.bytes(text)).isEqualTo(expected);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "-1", "1MB", "1.5GiB", "99999999999TiB"})
    void refusesOtherSizes(String text) {
        assertThatThrownBy(() -> Quantities.bytes(text)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void readsChoices() {
        assertThat(Quantities.choice(Waiting.class, "low-cpu")).isEqualTo(Waiting.LOW_CPU);
        assertThat(Quantities.choice(Overflow.class, "refuse")).isEqualTo(Overflow.REFUSE);
        assertThatThrownBy(() -> Quantities.choice(Waiting.class, "LOW_CPU"))
                .hasMessage("expected one of spin, balanced, low-cpu, found 'LOW_CPU'");
    }

    @Test
    void readsSharesOfWhatThereIs() {
        assertThat(Quantities.bytesOrShare("50%", 1001)).isEqualTo(500);
        assertThat(Quantities.bytesOrShare("100%", 1001)).isEqualTo(1001);
        assertThat(Quantities.bytesOrShare("1KiB", 7)).isEqualTo(1024);
        for (String wrong : new String[] {"0%", "101%", "5.5%", "-1%", "%"}) {
            assertThatThrownBy(() -> Quantities.bytesOrShare(wrong, 1001))
                    .as(wrong)
                    .isInstanceOf(IllegalArgumentException.class);
        }
    }
}
