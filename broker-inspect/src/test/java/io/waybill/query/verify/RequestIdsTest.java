package io.waybill.query.verify;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.query.verify.RequestIds.Match;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class RequestIdsTest {

    private static final long AFTER_A_BOOT = (1L << 32) + 1_000;

    private final RequestIds ids = new RequestIds();

    @Test
    void matchesResponsesOfEachBoot() {
        for (long counter : new long[] {1_000, 1_001, AFTER_A_BOOT, AFTER_A_BOOT + 1}) {
            ids.ask(counter, 3, false);
        }
        ids.finish(AFTER_A_BOOT + 1);

        assertThat(ids.outside()).as("requests that were not recorded").isZero();
        assertThat(ids.respond(1_000)).isEqualTo(Match.FIRST);
        assertThat(ids.respond(AFTER_A_BOOT)).isEqualTo(Match.FIRST);
        assertThat(ids.respond(AFTER_A_BOOT)).isEqualTo(Match.AGAIN);
        assertThat(ids.respond(AFTER_A_BOOT + 2)).isEqualTo(Match.NONE);
        assertThat(ids.respond(2 * AFTER_A_BOOT)).isEqualTo(Match.NONE);
        assertThat(ids.receiver(AFTER_A_BOOT)).isEqualTo(3);
        assertThat(ids.isFinished(AFTER_A_BOOT + 1)).isTrue();
        assertThat(ids.isFinished(1_001)).isFalse();
        assertThat(ids.isBefore(999)).isTrue();
        assertThat(ids.isBefore(AFTER_A_BOOT)).isFalse();
    }

    @Test
    void listsTheLowestWithoutAResponse() {
        for (long counter : new long[] {AFTER_A_BOOT, 1_000, 1_001}) {
            ids.ask(counter, 3, false);
        }
        ids.respond(1_000);
        List<Long> unanswered = new ArrayList<>();
        ids.unanswered(2, unanswered::add);
        assertThat(unanswered).containsExactly(1_001L, AFTER_A_BOOT);
        assertThat(ids.unansweredCount()).isEqualTo(2);
        unanswered.clear();
        ids.unanswered(1, unanswered::add);
        assertThat(unanswered).containsExactly(1_001L);
    }
}
