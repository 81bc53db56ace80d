package io.waybill.api.context;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** W3C Trace Context, from and to text. */
class TraceContextTest {

    private static final String TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
    private static final String SPAN = "00f067aa0ba902b7";
    private static final String VALID = "00-" + TRACE + "-" + SPAN + "-01";

    @Test
    void readsWhatItWrites() {
        TraceContext trace = TraceContext.parse(VALID, "vendor=a:b,other=1");
        assertThat(trace)
                .isEqualTo(new TraceContext(
                        0x4bf92f3577b34da6L, 0xa3ce929d0e0e4736L, 0x00f067aa0ba902b7L, 1, "vendor=a:b,other=1"));
        assertThat(trace.traceparent()).isEqualTo(VALID);
        assertThat(trace.traceId()).isEqualTo(TRACE);
        assertThat(trace.isSampled()).isTrue();
        Random random = new Random(5);
        for (int i = 0; i < 1000; i++) {
            TraceContext each = TraceContext.begin(random);
            assertThat(TraceContext.parse(each.traceparent())).isEqualTo(each);
        }
    }

    @Test
    void keepsKnownFlagsOnly() {
        assertThat(TraceContext.parse("00-" + TRACE + "-" + SPAN + "-ff").traceparent())
                .endsWith("-03");
        assertThat(TraceContext.parse("00-" + TRACE + "-" + SPAN + "-fe").isSampled())
                .isFalse();
    }

    /** A later version may have more fields, and is read by those of version 00. */
    @ParameterizedTest
    @ValueSource(strings = {"", "-", "-what-comes"})
    void readsLaterVersions(String more) {
        assertThat(TraceContext.parse("cc-" + TRACE + "-" + SPAN + "-01" + more).traceparent())
                .isEqualTo(VALID);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "''| it has 0 characters",
                "00-" + TRACE + "-" + SPAN + "-0 | it has 54 characters",
                "ff-" + TRACE + "-" + SPAN + "-01 | version ff",
                "0G-" + TRACE + "-" + SPAN + "-01 | at character 1",
                "00_" + TRACE + "-" + SPAN + "-01 | no hyphen at character 2",
                "00-" + TRACE + "_" + SPAN + "-01 | no hyphen at character 35",
                "00-" + TRACE + "-" + SPAN + "_01 | no hyphen at character 52",
                "00-4BF92F3577B34DA6A3CE929D0E0E4736-" + SPAN + "-01 | at character 4",
                "00-00000000000000000000000000000000-" + SPAN + "-01 | its trace id is 0",
                "00-" + TRACE + "-0000000000000000-01 | its span id is 0",
                "00-" + TRACE + "-00f067aa0ba902bz-01 | at character 51",
                "00-" + TRACE + "-" + SPAN + "-x1 | at character 53",
                "00-" + TRACE + "-" + SPAN + "-01-more | behind the flags at character 55",
                "cc-" + TRACE + "-" + SPAN + "-01.more | behind the flags at character 55",
            })
    void saysWhatIsWrong(String text, String why) {
        assertThatThrownBy(() -> TraceContext.parse(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(why);
    }

    @Test
    void limitsTheState() {
        TraceContext.parse(VALID, "k=" + "v".repeat(510));
        assertThatThrownBy(() -> TraceContext.parse(VALID, "k=" + "v".repeat(511)))
                .isInstanceOf(ContextLimitException.class)
                .hasMessageContaining("at most 512 characters of tracestate, and this one would have 513");
        TraceContext.parse(VALID, "k=v,".repeat(31) + "k=v");
        assertThatThrownBy(() -> TraceContext.parse(VALID, "k=v,".repeat(32) + "k=v"))
                .isInstanceOf(ContextLimitException.class)
                .hasMessageContaining("at most 32 members");
        assertThatThrownBy(() -> TraceContext.parse(VALID, "k=v\n"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("character 3 is none");
    }

    @Test
    void hasIdsThatAreNotZero() {
        assertThatThrownBy(() -> new TraceContext(0, 0, 1, 0, "")).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new TraceContext(1, 0, 0, 0, "")).isInstanceOf(IllegalArgumentException.class);
        TraceContext trace = new TraceContext(0, 1, 2, 0, "s=1");
        assertThat(trace.inSpan(7)).isEqualTo(new TraceContext(0, 1, 7, 0, "s=1"));
        assertThatThrownBy(() -> trace.inSpan(0)).isInstanceOf(IllegalArgumentException.class);
    }
}
