package io.waybill.worker.context;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.context.CallContext;
import io.waybill.api.context.TraceContext;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.BufferedReader;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Contexts that go to another process, and from there back into this one. */
@Timeout(120)
class TwoProcessContextTest {

    @TempDir
    private Path directory;

    private Workers workers;
    private Worker caller;
    private Process relay;

    @BeforeEach
    void start() throws IOException {
        workers = new Workers(directory);
        HandlerRegistry handlers = workers.registry();
        workers.handle(
                handlers,
                "text.seen",
                (message, outbox) -> outbox.response().text("seen", describe(CallContext.current())));
        caller = workers.join("caller", handlers);
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        for (String flag : ManagementFactory.getRuntimeMXBean().getInputArguments()) {
            if (flag.startsWith("--add-") || flag.startsWith("-Dslf4j") || flag.startsWith("-Djava.io.tmpdir")) {
                command.add(flag);
            }
        }
        command.addAll(List.of(
                "-Xmx128m",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path")));
        command.addAll(
                List.of(RelayProcess.class.getName(), directory.resolve("home").toString()));
        relay = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        BufferedReader lines = relay.inputReader();
        String line = lines.readLine();
        while (line != null && !line.startsWith("joined")) {
            line = lines.readLine();
        }
        assertThat(line).as("the other process has joined").isNotNull();
    }

    @AfterEach
    void stop() throws Exception {
        relay.getOutputStream().close();
        if (!relay.waitFor(20, TimeUnit.SECONDS)) {
            relay.destroyForcibly().waitFor();
        }
        workers.close();
    }

    private static String describe(CallContext context) {
        return context.names() + " " + context.text("k").orElse("none")
                + context.trace().map(trace -> " " + trace.traceId()).orElse("");
    }

    @Test
    void areTheSameThere() {
        TraceContext trace = new TraceContext(0xabc, 0xdef, 0x77, 1, "");
        CallContext sent = CallContext.EMPTY.with("k", "grün").with(trace);
        Request request = Request.operation("relay", "text.relay").timeout(Duration.ofSeconds(60));
        try (Response response = sent.supply(() -> caller.call(request))) {
            assertThat(response.value("here")).isEqualTo(Value.of("grün"));
            assertThat(response.text("there")).isEqualTo("[k, relayed] grün " + trace.traceId());
        }
        try (Response response = caller.call(request)) {
            assertThat(response.value("here")).isEqualTo(Value.of("none"));
            assertThat(response.text("there")).isEqualTo("[relayed] none");
        }
    }
}
