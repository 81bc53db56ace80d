package io.waybill.dispatch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.Optional;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CanaryRuleTest {

    private static final int IDS = 100_000;

    private static CanaryRule share(double percent) {
        return new CanaryRule(percent, Optional.empty(), Optional.empty());
    }

    private static long[] selected(CanaryRule rule, long worker) {
        return LongStream.range(0, IDS)
                .map(counter -> worker << 48 | counter)
                .filter(id -> rule.selects(id, "trainer-0"))
                .toArray();
    }

    @ParameterizedTest
    @ValueSource(doubles = {0.5, 5, 50, 99})
    void selectsItsShareOfCountedIds(double percent) {
        for (long worker : new long[] {0, 1, 511}) {
            assertThat(selected(share(percent), worker).length / (double) IDS)
                    .as("share of the ids of worker %d", worker)
                    .isBetween(percent / 100 - 0.005, percent / 100 + 0.005);
        }
    }

    @Test
    void selectsTheSameIdsAgain() {
        assertThat(selected(share(5), 3)).isEqualTo(selected(share(5), 3));
        assertThat(selected(share(10), 3))
                .as("a larger share has all of a smaller one")
                .contains(selected(share(5), 3));
    }

    @Test
    void selectsAll() {
        assertThat(selected(share(100), 3)).hasSize(IDS);
        assertThat(share(100).selects(-1, "a")).isTrue();
    }

    @Test
    void selectsByCallerAndKey() {
        CanaryRule rule = new CanaryRule(100, Optional.of("trainer-*"), Optional.of("text.*"));
        assertThat(rule.selects(1, "trainer-7")).isTrue();
        assertThat(rule.selects(1, "ps0")).isFalse();
        assertThat(rule.concerns(HandlerKey.parse("text.count"))).isTrue();
        assertThat(rule.concerns(HandlerKey.parse("texts.count"))).isFalse();
        assertThat(new CanaryRule(100, Optional.of("a.c"), Optional.empty()).selects(1, "abc"))
                .as("a dot is a dot")
                .isFalse();
    }

    @ParameterizedTest
    @ValueSource(doubles = {0, -1, 100.1, Double.NaN})
    void refusesOtherShares(double percent) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> share(percent))
                .withMessageContaining("expected more than 0% and at most 100%, found " + percent + "%");
    }
}
