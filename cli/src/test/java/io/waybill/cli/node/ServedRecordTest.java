package io.waybill.cli.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.Provider;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(300)
class ServedRecordTest {

    private static final HandlerKey COUNT = HandlerKey.parse("text.count");

    private final Host host = Host.real();

    @Test
    void isTriedAgainWhenTheDiskDoesNotTakeIt(@TempDir Path directory) throws Exception {
        Home home = Home.open(directory.resolve("home"), host);
        HandlerRegistry registry = new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock());
        HandlerExecutor executor = registry.newExecutor(new Provider("p", "1"), ExecutorSettings.forProcessors(2));
        try (Worker worker = Worker.join(home, "node", JoinOptions.defaults(), WorkerSettings.defaults(), registry);
                ServedRecord record = new ServedRecord(worker, host, Map::of)) {
            Path file = worker.directory().path().resolve("worker.json");
            record.publish();
            Files.delete(file);
            Files.createDirectory(file);
            Files.createFile(file.resolve("in-the-way"));
            registry.add(HandlerSpec.of(COUNT, (message, outbox) -> {}, new Provider("p", "1"), executor));
            record.changed();
            Waits.until("a second attempt, after the first failed", () -> record.failures() >= 2);

            Files.delete(file.resolve("in-the-way"));
            Files.delete(file);
            awaitServed(worker);
        } finally {
            executor.close(Duration.ofSeconds(10));
        }
    }

    private void awaitServed(Worker worker) throws IOException {
        long untilNs = System.nanoTime() + 60_000_000_000L;
        while (!worker.directory().record().serves().contains(COUNT.text())) {
            assertThat(System.nanoTime()).as("until the handler is told of").isLessThan(untilNs);
            host.threads().pause(1_000_000);
        }
    }
}
