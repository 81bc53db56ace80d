package io.waybill.bench.measure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class FiguresTest {

    @Test
    void readsTheLineThatAChildProcessWrites() {
        Figures written =
                new Figures().put("calls", 12L).put("max_gap_ms", 0.1234).put("waiting", "spin");

        Figures read = Figures.parse(written.line());

        assertThat(read.integer("calls")).isEqualTo(12);
        assertThat(read.number("max_gap_ms")).isEqualTo(0.123);
        assertThat(read.values()).containsEntry("waiting", "spin");
    }

    @Test
    void namesAFigureThatIsMissing() {
        assertThatThrownBy(() -> new Figures().put("calls", 1L).integer("p50_ns"))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("p50_ns")
                .hasMessageContaining("calls");
    }

    @Test
    void takesTheMiddleOfAnOddNumberOfRounds() {
        assertThat(Figures.median(9L, 1L, 5L)).isEqualTo(5);
    }
}
