package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;

class OsgiSettingsTest {

    private static OsgiSettings.Builder builder() {
        return OsgiSettings.builder(Path.of("bundles"), Path.of("watched"), Path.of("own"), Path.of("conf"));
    }

    @Test
    void hasDefaults() {
        OsgiSettings usual = builder().build();
        assertThat(usual.drainLimit()).isEqualTo(Duration.ofSeconds(10));
        assertThat(usual.startLimit()).isEqualTo(Duration.ofSeconds(30));
        assertThat(usual.activationLimit()).isEqualTo(Duration.ofSeconds(2));
        assertThat(usual.lookInterval()).isEqualTo(Duration.ofSeconds(1));
        assertThat(OsgiSettings.MAX_JAR_BYTES).isEqualTo(1L << 30);
        assertThat(usual.cache()).isEqualTo(Path.of("own/cache"));
        assertThat(usual.installed()).isEqualTo(Path.of("own/installed"));
        assertThat(usual.framework()).isEmpty();
    }

    @Test
    void takesOthers() {
        OsgiSettings other = builder()
                .framework(Map.of("a", "b"))
                .limits(Duration.ZERO, Duration.ofSeconds(1), Duration.ofSeconds(3))
                .build();
        assertThat(other.framework()).containsEntry("a", "b");
        assertThat(other.drainLimit()).isZero();
        assertThat(other.startLimit()).isEqualTo(Duration.ofSeconds(1));
        assertThat(other.activationLimit()).isEqualTo(Duration.ofSeconds(3));
    }

    @Test
    void refusesTimesThatAreNone() {
        Duration negative = Duration.ofMillis(-1);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> builder()
                        .limits(negative, Duration.ofSeconds(1), Duration.ZERO)
                        .build())
                .withMessageContaining("osgi.drain-limit");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> builder()
                        .limits(Duration.ZERO, Duration.ZERO, Duration.ZERO)
                        .build())
                .withMessageContaining("osgi.start-limit");
    }
}
