package io.waybill.cli.show;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.entry;

import java.util.List;
import org.junit.jupiter.api.Test;

class MarkdownTableTest {

    private static final MarkdownTable TABLE = new MarkdownTable("""
            | key | default | meaning |
            |---|---|---|
            | `a.b` | `1 s` | how long, with `c` and `d` |
            | `c` | none | `d` |

            | `--size` | bytes of `a` |
            """);

    @Test
    void takesRowsOfOneWidthWithoutHeads() {
        assertThat(TABLE.rows(3))
                .containsExactly(List.of("a.b", "1 s", "how long, with `c` and `d`"), List.of("c", "none", "d"));
        assertThat(TABLE.rows(4)).isEmpty();
    }

    @Test
    void pairsTheFirstTwoCells() {
        assertThat(TABLE.pairs(3)).containsExactly(entry("a.b", "1 s"), entry("c", "none"));
        assertThat(TABLE.pairs(2)).containsExactly(entry("--size", "bytes of `a`"));
    }
}
