package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.worker.context.RelayProcess;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A worker in another time namespace, as in a container that was moved: its clocks and its start time are others. */
@Timeout(300)
class TimeNamespaceCallsTest {

    @TempDir
    private Path directory;

    private Workers workers;

    @AfterEach
    void close() throws IOException {
        if (workers != null) {
            workers.close();
        }
    }

    private static List<String> launcher(String monotonicS, String bootS, String... more) {
        List<String> launcher = new ArrayList<>(
                List.of("unshare", "--time", "--monotonic", monotonicS, "--boottime", bootS, "--fork", "--kill-child"));
        launcher.addAll(List.of(more));
        return launcher;
    }

    /** Not where a user may not make namespaces. */
    private static void assumeNamespaces() throws InterruptedException {
        AtomicReference<String> why = new AtomicReference<>();
        try {
            Process tried = new ProcessBuilder(launcher("1", "1", "true"))
                    .redirectErrorStream(true)
                    .start();
            if (!tried.waitFor(60, TimeUnit.SECONDS) || tried.exitValue() != 0) {
                why.set(new String(tried.getInputStream().readAllBytes()));
            }
        } catch (IOException e) { // there is no such program
            why.set(e.getMessage());
        }
        assumeThat(why.get()).as("why there can't be a time namespace").isNull();
    }

    @SuppressWarnings("try") // the other process is only closed
    @ParameterizedTest
    @CsvSource({"5000, 1000000", "-20, -20"})
    void calls(String monotonicS, String bootS) throws Exception {
        assumeNamespaces();
        workers = new Workers(directory);
        HandlerRegistry handlers = workers.registry();
        workers.handle(
                handlers, "text.seen", (message, outbox) -> outbox.response().text("seen", "here"));
        Worker caller = workers.join("caller", handlers);
        try (RelayProcess relay = RelayProcess.start(workers.home.path(), launcher(monotonicS, bootS))) {
            Request request = Request.operation("relay", "text.relay").timeout(Duration.ofSeconds(60));
            for (int i = 0; i < 20; i++) {
                try (Response response = caller.call(request)) {
                    assertThat(response.value("there")).isEqualTo(Value.of("here"));
                }
                LockSupport.parkNanos(i * 1_000_000L); // so that both fall asleep, and wake each other
            }
        }
    }
}
