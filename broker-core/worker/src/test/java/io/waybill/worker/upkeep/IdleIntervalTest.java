package io.waybill.worker.upkeep;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The text under which a worker publishes when it was idle. */
@Timeout(60)
class IdleIntervalTest {

    @Test
    void anIntervalIsReadAsItWasPublished() {
        for (long sinceNs : new long[] {0, 1, 999_999_999_999_999_998L}) {
            IdleInterval published = new IdleInterval(sinceNs, sinceNs + 1);
            assertThat(IdleInterval.of(published.text())).as(published.text()).isEqualTo(published);
        }
    }

    /** Workers of other versions read it. */
    @Test
    void theTextHasTheBeginBeforeTheLastCheck() {
        assertThat(new IdleInterval(12, 345).text()).isEqualTo("quiet 12 345");
    }

    @Test
    void aBusyWorkerPublishesNoInterval() {
        assertThat(IdleInterval.BUSY.text()).isEqualTo("busy");
        assertThat(IdleInterval.of(IdleInterval.BUSY.text())).isEqualTo(IdleInterval.BUSY);
    }

    @ParameterizedTest(name = "\"{0}\"")
    @ValueSource(
            strings = {
                "",
                "busy",
                IdleInterval.ENDED,
                "quiet",
                "quiet 1",
                "quiet 1 2 3",
                "quiet -1 2",
                "quiet 1 x",
                "quiet  1 2",
                "quiet 1 2\n",
                "quiet 1 9999999999999999999",
                "very quiet 1 2"
            })
    void anythingElseIsEmpty(String published) {
        IdleInterval read = IdleInterval.of(published);
        assertThat(read).as("what is read from another text").isEqualTo(IdleInterval.BUSY);
        assertThat(read.untilNs())
                .as("its end, which no begin of another worker comes before")
                .isLessThan(read.sinceNs());
    }
}
