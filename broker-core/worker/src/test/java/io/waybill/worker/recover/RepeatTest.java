package io.waybill.worker.recover;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.handler.LateResponse;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.host.Host;
import io.waybill.host.Threads;
import io.waybill.testing.core.Waits;
import io.waybill.worker.ResponsesOnRecord;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Requests that a caller which joined again sends under the ids of its incarnation before. Their handlers are begun at most once. */
@Timeout(180)
class RepeatTest {

    private static final Duration LONG = Duration.ofSeconds(20);
    private static final String OPERATION = "say.late";

    @TempDir
    private Path directory;

    private Workers workers;
    private final AtomicReference<LateResponse> late = new AtomicReference<>();
    private final AtomicInteger begun = new AtomicInteger();
    private final AtomicInteger redelivered = new AtomicInteger();

    @BeforeEach
    void open() throws IOException {
        workers = new Workers(directory);
    }

    @AfterEach
    void close() throws IOException {
        workers.close();
    }

    private Worker joinCallee() throws IOException {
        HandlerRegistry registry = workers.registry();
        serve(registry);
        return workers.join("callee", registry);
    }

    private void serve(HandlerRegistry registry) {
        workers.handle(registry, OPERATION, (message, outbox) -> {
            begun.incrementAndGet();
            redelivered.addAndGet(message.isRedelivery() ? 1 : 0);
            late.set(outbox.later());
        });
    }

    private long ask(Worker caller, Heard heard) {
        return caller.call(Request.operation("callee", OPERATION), heard);
    }

    private void response() throws Exception {
        Waits.until("begun", () -> late.get() != null);
        late.get().body().text("said", "hello");
        late.get().send();
    }

    private static void assertResponse(CompletableFuture<Response> repeated) {
        try (Response response = repeated.join()) {
            assertThat(response.text("said")).isEqualTo("hello");
        }
    }

    @Test
    void joinTheHandlerThatIsAtIt() throws Exception {
        joinCallee();
        Worker first = workers.join("caller");
        long id = ask(first, new Heard());
        Waits.until("begun", () -> begun.get() == 1);
        first.close();
        Worker again = workers.join("caller");
        CompletableFuture<Response> repeated = again.repeatAsync(id, LONG);
        CompletableFuture<Response> once = again.repeatAsync(id, LONG);
        try (Response other = again.call(Request.operation("callee", "no.such"))) {
            assertThat(other).isNull();
        } catch (CallException e) { // what was sent behind them was served
            assertThat(e.code()).isEqualTo(ErrorCode.UNKNOWN_OPERATION);
        }
        response();
        assertResponse(repeated);
        assertResponse(once);
        assertResponse(again.repeatAsync(id, LONG));
        assertThat(begun).hasValue(1);
    }

    /** The request is in the callee's journal already, and waits for its handler. */
    @Test
    void joinARequestThatParked() throws Exception {
        HandlerRegistry registry = workers.registry();
        registry.expectMore();
        workers.handle(
                registry, "say.now", (message, outbox) -> outbox.response().text("said", "now"));
        Worker callee = workers.join("callee", registry);
        Worker first = workers.join("caller");
        long id = ask(first, new Heard());
        Waits.until("parked", () -> callee.counters().requestsParked() == 1);
        first.close();
        Worker again = workers.join("caller");
        CompletableFuture<Response> repeated = again.repeatAsync(id, LONG);
        Waits.until("sent again", () -> again.counters().callsSent() == 1);
        again.call(Request.operation("callee", "say.now")).close(); // what was sent before it was read

        serve(registry);
        response();

        assertResponse(repeated);
        registry.expectNoMore();
        again.call(Request.operation("callee", "say.now")).close();
        assertThat(callee.counters().requestsParked())
                .as("requests that parked; the repeat is no second one")
                .isEqualTo(1);
        assertThat(ResponsesOnRecord.to(id, callee))
                .as("responses to a request that was repeated while it waited for its handler")
                .hasSize(1);
        assertThat(begun).hasValue(1);
        assertThat(redelivered).hasValue(0);
    }

    @Test
    void areRunWhenNoHandlerHadBegunThem() throws Exception {
        HandlerRegistry registry = workers.registry();
        workers.join("callee", registry);
        Worker first = workers.join("caller");
        Heard heard = new Heard();
        long id = ask(first, heard);
        Waits.until("refused", () -> heard.failure.get() != null);
        assertThat(heard.failure.get().code()).isEqualTo(ErrorCode.UNKNOWN_OPERATION);
        first.close();
        serve(registry);
        Worker again = workers.join("caller");
        CompletableFuture<Response> repeated = again.repeatAsync(id, LONG);
        response();
        assertResponse(repeated);
        assertThat(begun).hasValue(1);
        assertThat(redelivered).hasValue(0);
    }

    @Test
    void leaveTheIdsOfLaterIncarnationsAlone() throws Exception {
        joinCallee();
        Worker first = workers.join("caller");
        long id = ask(first, new Heard());
        Waits.until("begun", () -> begun.get() == 1);
        long last = ask(first, new Heard());
        Waits.until("begun", () -> begun.get() == 2);
        first.close();
        Worker second = workers.join("caller");
        CompletableFuture<Response> repeated = second.repeatAsync(id, LONG);
        Waits.until("sent again", () -> second.counters().callsSent() == 1);
        second.close();
        assertThat(repeated).failsWithin(20, TimeUnit.SECONDS);
        Worker third = workers.join("caller");
        assertThat(ask(third, new Heard())).isEqualTo(last + 1);
    }

    @Test
    void areNotRunWhenAnEarlierIncarnationMayHaveBegunThem() throws Exception {
        Worker callee = joinCallee();
        Worker first = workers.join("caller");
        long id = ask(first, new Heard());
        Waits.until("begun", () -> begun.get() == 1);
        first.close();
        callee.close();
        joinCallee();
        Worker again = workers.join("caller");
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> again.repeat(id, LONG))
                .withMessageContaining("may have begun it and did not respond")
                .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.WORKER_LOST));
        assertThat(begun).hasValue(1);
    }

    /** What a listener heard. */
    private static final class Heard implements ResponseListener {
        private final AtomicReference<CallException> failure = new AtomicReference<>();

        @Override
        public void onResponse(Response response) {
            // only failures are looked for
        }

        @Override
        public void onFailure(CallException heard) {
            failure.set(heard);
        }
    }

    @Test
    void areServedWhenTheHostRefusesTheThreadThatLooksForTheirResponsesAtFirst() throws Exception {
        AtomicInteger refused = new AtomicInteger(1);
        Threads few = (name, body) -> {
            if (name.endsWith("-repeats") && refused.getAndDecrement() > 0) {
                throw new OutOfMemoryError("no thread: made by the test");
            }
            return Host.real().threads().start(name, body);
        };
        HandlerRegistry registry = workers.registry();
        workers.join("callee", registry, Workers.SETTINGS, few);
        Worker first = workers.join("caller");
        long[] ids = new long[2];
        for (int i = 0; i < ids.length; i++) {
            Heard heard = new Heard();
            ids[i] = ask(first, heard);
            Waits.until("refused", () -> heard.failure.get() != null);
        }
        first.close();
        serve(registry);
        Worker again = workers.join("caller");

        for (long id : ids) {
            late.set(null);
            CompletableFuture<Response> repeated = again.repeatAsync(id, LONG);
            response();
            assertResponse(repeated);
        }
        assertThat(refused).as("starts that were tried").hasValueLessThan(0);
        assertThat(begun).hasValue(ids.length);
    }
}
