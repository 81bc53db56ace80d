package io.waybill.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class HostClockTest {
    private static final long SECOND = 1_000_000_000L;

    private final Clock clock = Host.real().clock();

    @Test
    void agreesWithTheKernelAboutTheTimeSinceBoot() throws IOException {
        double uptimeS =
                Double.parseDouble(Files.readString(Path.of("/proc/uptime")).split(" ")[0]);
        assertThat(clock.bootNs()).isBetween((long) ((uptimeS - 5) * SECOND), (long) ((uptimeS + 600) * SECOND));
    }

    @Test
    void agreesWithTheWallClock() {
        long nowNs = Instant.now().getEpochSecond() * SECOND;
        assertThat(clock.wallNs()).isBetween(nowNs - 5 * SECOND, nowNs + 600 * SECOND);
    }

    @Test
    void neverGoesBackByMeasuringAgain() {
        long last = clock.bootNs();
        for (int i = 0; i < 1000; i++) {
            clock.refresh();
            long now = clock.bootNs();
            assertThat(now).isGreaterThanOrEqualTo(last);
            last = now;
        }
    }
}
