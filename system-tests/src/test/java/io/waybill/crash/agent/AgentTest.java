package io.waybill.crash.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.crash.history.Problem;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Timeout(60)
class AgentTest {

    @ParameterizedTest
    @EnumSource
    void findsThePlaceOfEachPoint(Point point) throws IOException {
        change(point.changes());
    }

    @ParameterizedTest
    @EnumSource
    void findsThePlaceOfEachBug(Mutant mutant) throws IOException {
        change(mutant.changes());
        assertThat(Problem.Kind.valueOf(mutant.caughtAs())).isNotNull();
    }

    @Test
    void saysThatAPlaceIsNotThere() {
        assertThatThrownBy(() -> change(List.of(Change.entry("io/waybill/journal/append/Journal", "noSuchMethod"))))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("noSuchMethod");
    }

    private static void change(List<Change> changes) throws IOException {
        for (Change change : changes) {
            byte[] original = classFile(change.owner());
            assertThat(Rewriting.apply(original, change.owner(), changes)).isNotEqualTo(original);
        }
    }

    private static byte[] classFile(String name) throws IOException {
        try (InputStream in = AgentTest.class.getClassLoader().getResourceAsStream(name + ".class")) {
            return in.readAllBytes();
        }
    }
}
