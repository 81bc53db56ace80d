package io.waybill.replay;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Value;
import io.waybill.api.WorkerInfo;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.Provider;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import io.waybill.replay.recording.HomeRecording;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Which bundles a worker had, from the operations on record. */
@Timeout(value = 150, unit = TimeUnit.SECONDS)
class BundleHistoryTest {

    @TempDir
    Path directory;

    private final Host host = Host.real();

    /** A node's operations on bundles, which respond with what they changed. */
    private void serve(HandlerRegistry registry, String operation, String version) {
        Provider provider = new Provider("test", "1.0.0");
        Value bundle = new Value.Dict(
                Map.of(Value.of("name"), Value.of("org.acme.count"), Value.of("version"), Value.of(version)));
        registry.add(HandlerSpec.of(
                HandlerKey.parse("control:" + operation),
                (message, outbox) -> outbox.response().value("bundle", bundle),
                provider,
                registry.newExecutor(provider, ExecutorSettings.forProcessors(2))));
    }

    @Test
    void namesBundlesAndVersionsInTheirOrder() throws IOException {
        HandlerRegistry registry = new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock());
        serve(registry, "bundle.install", "1.2.0");
        serve(registry, "bundle.update", "1.3.0");
        serve(registry, "bundle.uninstall", "1.3.0");
        Home home = Home.open(directory.resolve("home"), host);
        WorkerInfo info;
        try (Worker worker = Worker.join(home, "ps0", JoinOptions.defaults(), WorkerSettings.defaults(), registry)) {
            worker.ready(Map.of());
            info = worker.info();
            for (String operation : List.of("bundle.install", "bundle.update", "bundle.uninstall")) {
                Invocation call = new Invocation(operation, List.of(), Map.of("path", Value.of("/a.jar")));
                worker.call(Request.invocation("ps0", MessageType.CONTROL_CALL, call))
                        .close();
            }
        }
        try (HomeRecording records = HomeRecording.open(home.path(), host)) {
            String time = " 20[0-9T:-]+Z";
            assertThat(BundleHistory.of(info, records, Optional.of(home.path()), host)
                            .orElseThrow())
                    .matches("on record, ps0 had org.acme.count 1.2.0 since" + time + ", org.acme.count 1.3.0 since"
                            + time + ", org.acme.count 1.3.0 until" + time + ": give the jar with --bundle");
            WorkerInfo other = new WorkerInfo(7, "other");
            assertThat(BundleHistory.of(other, records, Optional.of(home.path()), host))
                    .isEmpty();
        }
    }
}
