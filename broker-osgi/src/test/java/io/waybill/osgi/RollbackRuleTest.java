package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RollbackRuleTest {

    @Test
    void comparesTheShareOfFailedRequestsFromAMinimumOn() {
        RollbackRule rule = RollbackRule.parse("errors>1%");
        assertThat(rule.broken(0, 199)).as("fewer than 200 requests").isEmpty();
        assertThat(rule.broken(198, 2)).as("1% itself").isEmpty();
        assertThat(rule.broken(197, 3))
                .contains("3 of its 200 requests failed, 1.50%, and the rule is errors>1.0% of 200");
        assertThat(RollbackRule.parse(" errors > 0% of 1 ").broken(0, 1)).isPresent();
        assertThat(RollbackRule.parse("errors>2.5% of 40").broken(39, 1)).isEmpty();
        assertThat(RollbackRule.parse("errors>2.5% of 40").broken(38, 2)).isPresent();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"", "errors", "errors>1", "errors>x%", "errors<1%", "p99>2x", "errors>1% of", "errors>1% of -1"})
    void refusesOtherTexts(String text) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RollbackRule.parse(text))
                .withMessageContaining("expected errors>PERCENT%, or errors>PERCENT% of REQUESTS, found " + text);
    }
}
