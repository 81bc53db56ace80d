package io.waybill.bench.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ChildrenTest {

    private static final String REQUIRED = "--add-opens=java.base/java.lang=ALL-UNNAMED";
    private static final String CACHE = "-XX:AOTCache=/opt/waybill/lib/cds/java-25.aot";
    private static final String OWN_CACHE = "-XX:AOTCache=program.aot";

    @Test
    void givesAProgramTheFlagsThatItNeedsAndThoseThatAreAskedFor() {
        Stream<String> flags = Stream.of(REQUIRED, "-Dwaybill.flag=1", "-Xms32m", CACHE, OWN_CACHE, "-Xint");

        assertThat(Children.ofProgram(flags, " -Xint  " + OWN_CACHE))
                .containsExactly(REQUIRED, "-Dwaybill.flag=1", OWN_CACHE, "-Xint");
    }

    @Test
    void givesAProgramNoCacheOfItself() {
        assertThat(Children.ofProgram(Stream.of(REQUIRED, CACHE, "-XX:SharedArchiveFile=java-17.jsa"), ""))
                .containsExactly(REQUIRED);
    }
}
