package io.waybill.worker.upkeep;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.LateResponse;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.home.cursor.CursorSlot;
import io.waybill.home.error.HomeException;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** How far a worker says that it has finished a peer's requests. */
@Timeout(180)
class LowWatermarksTest {

    private static final int SOME = 50;

    @TempDir
    private Path directory;

    private Workers workers;
    private HandlerRegistry registry;
    private Worker callee;
    private Worker caller;
    private Worker other;
    private final AtomicReference<LateResponse> late = new AtomicReference<>();

    @BeforeEach
    void open() throws IOException {
        workers = new Workers(directory);
        registry = workers.registry();
        registry.expectMore();
        workers.handle(registry, "say.now", (message, outbox) -> outbox.respond(Value.of(true)));
        workers.handle(registry, "say.late", (message, outbox) -> late.set(outbox.later()));
        callee = workers.join("callee", registry);
        caller = workers.join("caller");
        other = workers.join("other");
    }

    @AfterEach
    void close() throws IOException {
        workers.close();
    }

    private static void callSome(Worker calling) {
        for (int i = 0; i < SOME; i++) {
            try (Response response = calling.call(Request.operation("callee", "say.now"))) {
                assertThat(response.value()).isEqualTo(Value.of(true));
            }
        }
    }

    private CursorSlot of(Worker calling) throws HomeException {
        return callee.directory().cursors().slot(calling.info().id());
    }

    private void awaitAllFinished(Worker calling) throws Exception {
        CursorSlot slot = of(calling);
        Waits.until(
                "all finished",
                () -> slot.requestsIndex() > 0 && slot.requestsCompletedBefore() == slot.requestsIndex());
    }

    /** After this the places were looked at again. */
    private void awaitNextLook() throws Exception {
        callSome(other);
        awaitAllFinished(other);
    }

    @Test
    void reachesWhatWasReadOnceAllHaveResponses() throws Exception {
        callSome(caller);
        awaitAllFinished(caller);
        long before = of(caller).requestsCompletedBefore();
        callSome(caller);
        awaitAllFinished(caller);
        assertThat(of(caller).requestsCompletedBefore()).isGreaterThan(before);
    }

    @Test
    void staysBeforeARequestInHand() throws Exception {
        callSome(caller);
        awaitAllFinished(caller);
        long before = of(caller).requestsCompletedBefore();
        CompletableFuture<Response> call = caller.callAsync(Request.operation("callee", "say.late"));
        Waits.until("begun", () -> late.get() != null);
        callSome(caller);
        awaitNextLook();
        assertThat(of(caller).requestsCompletedBefore()).isEqualTo(before);
        assertThat(of(caller).requestsIndex()).isGreaterThan(before + SOME);
        late.get().send(Value.of(true));
        call.join().close();
        awaitAllFinished(caller);
    }

    @Test
    void staysBeforeARequestThatWaitsForItsHandler() throws Exception {
        callSome(caller);
        awaitAllFinished(caller);
        long before = of(caller).requestsCompletedBefore();
        CompletableFuture<Response> call = caller.callAsync(Request.operation("callee", "say.more"));
        callSome(caller);
        awaitNextLook();
        assertThat(of(caller).requestsCompletedBefore()).isEqualTo(before);
        workers.handle(registry, "say.more", (message, outbox) -> outbox.respond(Value.of(true)));
        call.join().close();
        awaitAllFinished(caller);
    }

    @Test
    void saysBehindWhichOfItsResponsesTheOthersStand() throws Exception {
        callSome(caller);
        awaitAllFinished(caller);
        CursorSlot slot = of(caller);
        Waits.until("a place among the responses", () -> {
            callSome(caller);
            return slot.responsesFrom() > 0;
        });
    }
}
