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
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
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
    private RelayProcess relay;

    @BeforeEach
    void start() throws IOException {
        workers = new Workers(directory);
        HandlerRegistry handlers = workers.registry();
        workers.handle(
                handlers,
                "text.seen",
                (message, outbox) -> outbox.response().text("seen", describe(CallContext.current())));
        caller = workers.join("caller", handlers);
        relay = RelayProcess.start(directory.resolve("home"), List.of());
    }

    @AfterEach
    void stop() throws Exception {
        relay.close();
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
