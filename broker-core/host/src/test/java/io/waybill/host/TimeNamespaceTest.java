package io.waybill.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;

class TimeNamespaceTest {

    @Test
    void readsWhatTheKernelWrites() {
        assertThat(HostClock.TimeNamespace.parse(
                        List.of("monotonic        3600         5", "boottime        -864         0")))
                .isEqualTo(new HostClock.TimeNamespace(3_600_000_000_005L, -864_000_000_000L));
        assertThat(HostClock.TimeNamespace.parse(List.of("another 1 2"))).isEqualTo(new HostClock.TimeNamespace(0, 0));
    }

    @Test
    void namesALineThatItDoesNotUnderstand() {
        assertThatThrownBy(() -> HostClock.TimeNamespace.parse(List.of("monotonic 1")))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageEndingWith("found monotonic 1");
        assertThatThrownBy(() -> HostClock.TimeNamespace.parse(List.of("boottime 99999999999999999 0")))
                .isInstanceOf(IllegalStateException.class);
    }
}
