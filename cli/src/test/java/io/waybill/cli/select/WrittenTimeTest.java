package io.waybill.cli.select;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.cli.command.UsageException;
import io.waybill.cli.show.ShownTime;
import java.time.Instant;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Times of options, in a zone whose clocks change. */
@Timeout(60)
class WrittenTimeTest {

    private static final ZoneId BERLIN = ZoneId.of("Europe/Berlin");
    private static final long NOW = ns("2026-11-20T09:30:00Z");

    private static long ns(String instant) {
        return ChronoUnit.NANOS.between(Instant.EPOCH, Instant.parse(instant));
    }

    @ParameterizedTest
    @CsvSource({
        "2026-11-20, 2026-11-19T23:00:00Z",
        "2026-11-20T08:00, 2026-11-20T07:00:00Z",
        "2026-11-20 08:00:30.25, 2026-11-20T07:00:30.25Z",
        "2026-11-20T08:00Z, 2026-11-20T08:00:00Z",
        "2026-11-20T08:00:01+05:30, 2026-11-20T02:30:01Z",
        "2026-11-20 08:00 -03:00, 2026-11-20T11:00:00Z",
        "08:00, 2026-11-20T07:00:00Z",
        "08:00:30, 2026-11-20T07:00:30Z",
        "08:00Z, 2026-11-20T08:00:00Z",
        "10m, 2026-11-20T09:20:00Z",
        "2026-10-25T02:30+02:00, 2026-10-25T00:30:00Z",
        "2026-10-25T02:30+01:00, 2026-10-25T01:30:00Z"
    })
    void readsTimesAsPeopleWriteThem(String text, String instant) throws UsageException {
        assertThat(WrittenTime.parse(text, NOW, BERLIN)).isEqualTo(ns(instant));
    }

    @Test
    void readsWhatTheListsPrint() throws UsageException {
        long ns = ns("2026-10-25T01:30:00.123456Z");
        assertThat(WrittenTime.parse(ShownTime.of(ns), NOW, BERLIN)).isEqualTo(ns);
        assertThat(ShownTime.of(ns)).matches(".*[+-]\\d\\d:\\d\\d");
        assertThat(WrittenTime.parse(ShownTime.seconds(ns), NOW, BERLIN)).isEqualTo(ns("2026-10-25T01:30:00Z"));
    }

    @Test
    void refusesATimeThatIsNotOrIsTwice() {
        assertThatThrownBy(() -> WrittenTime.parse("2026-03-29T02:30", NOW, BERLIN))
                .hasMessage(
                        "2026-03-29T02:30 does not exist in Europe/Berlin: the clocks change from 2026-03-29T02:00:00"
                                + " to 2026-03-29T03:00:00; give the offset: 2026-03-29T02:30:00+01:00 or 2026-03-29T02:30:00+02:00");
        assertThatThrownBy(() -> WrittenTime.parse("2026-10-25 02:30", NOW, BERLIN))
                .hasMessage(
                        "2026-10-25 02:30 is there twice in Europe/Berlin: the clocks change from 2026-10-25T03:00:00"
                                + " to 2026-10-25T02:00:00; give the offset: 2026-10-25T02:30:00+02:00 or 2026-10-25T02:30:00+01:00");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "yesterday",
                "10",
                "8:00",
                "25:00",
                "2026-11-31",
                "2026-11-20T",
                "2026-11-20T08",
                "2026-11-20T08:00+",
                "2026-11-20T08:00+1",
                "2026-11-20T08:00+99:00",
                "2026-11-20+01:00",
                "9999-01-01",
                "٠٨:٠٠"
            })
    void refusesWhatIsNoTime(String text) {
        assertThatThrownBy(() -> WrittenTime.parse(text, NOW, BERLIN))
                .isInstanceOf(UsageException.class)
                .hasMessageStartingWith("a time is written 2026-11-20,")
                .hasMessageContaining(", not " + text);
    }
}
