package io.waybill.worker.peer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.home.WorkerDirectory;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Calls to a worker that has its directory, and no journal yet. */
@Timeout(90)
class StartingPeerTest {

    private static final Duration LIMIT = Duration.ofSeconds(60);

    @TempDir
    private Path directory;

    private Workers workers;
    private Worker caller;
    private WorkerDirectory starting;

    @BeforeEach
    void join() throws IOException {
        workers = new Workers(directory);
        caller = workers.join("caller");
        starting = workers.home.join("starting");
    }

    @AfterEach
    void leave() throws IOException {
        starting.close();
        workers.close();
    }

    private static Request echo() {
        return Request.operation("starting", "text.echo").timeout(LIMIT);
    }

    @Test
    void makesAProgramWaitUntilItsJournalIsThere() throws Exception {
        AtomicReference<ErrorCode> code = new AtomicReference<>();
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> caller.call(echo().timeout(Duration.ofMillis(100))))
                .satisfies(e -> code.set(e.code()))
                .withMessageContaining("worker starting is still starting");
        assertThat(code.get()).isEqualTo(ErrorCode.TIMED_OUT);
    }

    @Test
    void makesNoPollerWait() throws IOException {
        HandlerRegistry handlers = workers.registry();
        CompletableFuture<ErrorCode> refused = new CompletableFuture<>();
        Worker[] server = new Worker[1];
        workers.handleOnPoller(handlers, "text.on", (message, outbox) -> {
            server[0]
                    .callAsync(echo())
                    .whenComplete((response, failure) ->
                            refused.complete(failure instanceof CallException e ? e.code() : null));
            outbox.respond(Value.of("went on"));
        });
        server[0] = workers.join("server", handlers);
        try (Response response =
                caller.call(Request.operation("server", "text.on").timeout(Duration.ofSeconds(20)))) {
            assertThat(response.value()).as("what the poller did meanwhile").isEqualTo(Value.of("went on"));
        }
        assertThat(refused.join())
                .as("the call of a handler that must not block")
                .isEqualTo(ErrorCode.BACK_PRESSURE);
    }
}
