package io.waybill.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.Message;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A process has the setup that the test gave it. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class WorkerSetupTest {

    /** Does nothing. */
    private static final class Silent implements MessageHandler {

        @Override
        public void handle(Message message, Outbox outbox) {
            outbox.later();
        }
    }

    @Test
    void isTheSameInAProcess() throws Exception {
        WorkerSetup setup = WorkerSetup.of(Path.of("first dir/a.jar"), Path.of("b.jar"))
                .handler("text.*", Silent.class)
                .devices("toy:0 toy:1")
                .deviceMaps("ps0 toy:0=toy:1 cpu=toy:0; ps1 toy:0=cpu")
                .deviceMaps("ps2 toy:1=toy:0")
                .deviceSharing("ps0 ps1");
        WorkerSetup passed = WorkerSetup.ofArguments(setup.arguments());
        assertThat(passed.devices()).isEqualTo(setup.devices());
        assertThat(passed.devices().maps()).containsOnlyKeys("ps0", "ps1", "ps2");
        assertThat(passed.devices().sharing()).containsExactly("ps0", "ps1");
        assertThat(passed.bundles())
                .containsExactly(
                        Path.of("first dir/a.jar").toAbsolutePath(),
                        Path.of("b.jar").toAbsolutePath());
        assertThat(passed.newHandlers().get("text.*")).isInstanceOf(Silent.class);
    }

    @Test
    void refusesTextsThatAreNoSettings() {
        WorkerSetup setup = WorkerSetup.of();
        assertThatThrownBy(() -> setup.devices("toy:")).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> setup.deviceMaps("ps0"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("a device map is a worker's name and one or more devices");
        assertThatThrownBy(() -> setup.deviceSharing("a b/c")).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> setup.handler("", Silent.class)).isInstanceOf(IllegalArgumentException.class);
    }
}
