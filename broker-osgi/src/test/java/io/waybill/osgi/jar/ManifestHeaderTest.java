package io.waybill.osgi.jar;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class ManifestHeaderTest {

    @Test
    void readsClausesWithTheirParameters() {
        List<ManifestHeader> clauses =
                ManifestHeader.parse("a.b;c.d; uses:=\"x.y,z\" ;version=\"[1.0,2)\", e;resolution:=optional");

        assertThat(clauses).hasSize(2);
        assertThat(clauses.get(0).names()).containsExactly("a.b", "c.d");
        assertThat(clauses.get(0).attribute("version")).contains("[1.0,2)");
        assertThat(clauses.get(0).directive("uses")).contains("x.y,z");
        assertThat(clauses.get(1).names()).containsExactly("e");
        assertThat(clauses.get(1).directive("resolution")).contains("optional");
        assertThat(clauses.get(1).attribute("version")).isEmpty();
    }

    @Test
    void survivesWhatFollowsNoForm() {
        for (String text : new String[] {"", ";", ",", "\"", "a;=", "a;b=\"", ";;,,\"\",=:="}) {
            assertThat(ManifestHeader.parse(text)).isNotEmpty();
        }
    }
}
