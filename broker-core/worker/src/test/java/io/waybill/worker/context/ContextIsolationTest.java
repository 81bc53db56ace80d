package io.waybill.worker.context;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.Value;
import io.waybill.api.context.CallContext;
import io.waybill.api.context.ContextScope;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.Outbox;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.exchange.Wrapping;
import io.waybill.testing.core.Seeds;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** No thread ever shows one call's context to another, whatever handlers and listeners do with their scopes. */
@Timeout(180)
class ContextIsolationTest {

    private static final int THREADS = 4;
    private static final int CALLS = 250; // of each thread
    private static final int KIND = 0x50;
    private static final Duration LONG = Duration.ofSeconds(60);
    private static final List<String> OPERATIONS =
            List.of("text.pool", "text.poller", "text.late", "text.relay", "wrapped.pool", "wrapped.poller");

    @TempDir
    private Path directory;

    private final long seed = Seeds.fresh();
    private Workers workers;
    private Worker caller;

    @BeforeEach
    void joinTwo() throws IOException {
        workers = new Workers(directory);
        workers.join("server", handlers());
        caller = workers.join("caller", handlers());
        Wrapping.add(caller, "wrapped.*", KIND, 0);
    }

    private HandlerRegistry handlers() {
        HandlerRegistry handlers = workers.registry();
        for (String prefix : List.of("text", "wrapped")) {
            workers.handle(handlers, prefix + ".pool", ContextIsolationTest::respond);
            workers.handleOnPoller(handlers, prefix + ".poller", ContextIsolationTest::respond);
        }
        workers.handle(handlers, "text.late", (message, outbox) -> {
            LateResponse late = outbox.later();
            Value seen = Value.of(k());
            misuse(message.int64("random"));
            CompletableFuture.runAsync(() -> late.send(seen));
        });
        workers.handle(handlers, "text.relay", (message, outbox) -> {
            String before = k();
            Request inner = request("caller", "text.pool", message.int64("random"));
            try (Response response = outbox.caller().call(inner)) {
                assertThat(response.value()).isEqualTo(Value.of(before));
            }
            outbox.respond(Value.of(k()));
        });
        workers.handle(handlers, "0x150", Wrapping.BLOCKING);
        return handlers;
    }

    @AfterEach
    void leave() throws IOException {
        workers.close();
    }

    private static String k() {
        return CallContext.current().text("k").orElse("none");
    }

    private static Request request(String to, String operation, long random) {
        Request request = Request.operation(to, operation).timeout(LONG);
        request.body().int64("random", random);
        return request;
    }

    private static void respond(Message message, Outbox outbox) throws RejectedMessageException {
        outbox.respond(Value.of(k()));
        misuse(message.int64("random"));
    }

    /** Uses scopes as foreign code may. */
    private static void misuse(long how) {
        CallContext foreign = CallContext.EMPTY.with("k", "foreign-" + how);
        switch ((int) (how % 6)) {
            case 0 -> foreign.makeCurrent();
            case 1 -> {
                ContextScope scope = foreign.makeCurrent();
                scope.close();
                scope.close();
            }
            case 2 -> {
                ContextScope outer = foreign.makeCurrent();
                foreign.makeCurrent();
                try {
                    outer.close();
                } catch (IllegalStateException e) {
                    assertThat(e).hasMessageContaining("reverse order");
                }
            }
            case 3 -> {
                foreign.makeCurrent();
                CallContext.EMPTY.makeCurrent();
            }
            case 4 -> {
                ContextScope scope = foreign.makeCurrent();
                new Thread(() -> scope.close()).start(); // throws there
            }
            default -> {}
        }
    }

    @Test
    void callsAreKeptApart() throws Exception {
        List<CompletableFuture<Void>> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            int number = i;
            CompletableFuture<Void> done = new CompletableFuture<>();
            threads.add(done);
            new Thread(() -> {
                        try {
                            calls(number, new Random(seed + number));
                            done.complete(null);
                        } catch (Throwable e) {
                            done.completeExceptionally(e);
                        }
                    })
                    .start();
        }
        for (CompletableFuture<Void> each : threads) {
            each.get(120, TimeUnit.SECONDS);
        }
    }

    private void calls(int thread, Random random) throws Exception {
        List<CompletableFuture<String>> open = new ArrayList<>();
        List<String> expected = new ArrayList<>();
        for (int i = 0; i < CALLS; i++) {
            String k = random.nextInt(3) == 0 ? "none" : "t" + thread + "-" + i;
            CallContext context = k.equals("none") ? CallContext.EMPTY : CallContext.EMPTY.with("k", k);
            String operation = OPERATIONS.get(random.nextInt(OPERATIONS.size()));
            String to = operation.equals("text.relay") || random.nextInt(4) > 0 ? "server" : "caller";
            Request request = request(to, operation, random.nextInt(1000));
            int form = random.nextInt(3);
            ContextScope scope = context.makeCurrent();
            open.add(begin(form, request));
            expected.add(k + " " + k);
            assertThat(k()).as("on the calling thread").isEqualTo(k);
            scope.close();
            assertThat(k()).isEqualTo("none");
            if (random.nextInt(8) == 0) {
                check(open, expected);
            }
        }
        check(open, expected);
    }

    private void check(List<CompletableFuture<String>> open, List<String> expected) throws Exception {
        for (int i = 0; i < open.size(); i++) {
            assertThat(open.get(i).get(60, TimeUnit.SECONDS))
                    .as("seen by the handler and back, of seed " + seed)
                    .isEqualTo(expected.get(i));
        }
        open.clear();
        expected.clear();
    }

    /** Begins a call; what its handler saw, and then its listener. */
    private CompletableFuture<String> begin(int form, Request request) {
        if (form == 0) {
            try (Response response = caller.call(request)) {
                return CompletableFuture.completedFuture(text(response) + " " + k());
            }
        }
        CompletableFuture<String> seen = new CompletableFuture<>();
        if (form == 1) {
            Thread calling = Thread.currentThread();
            caller.callAsync(request).whenComplete((response, failure) -> {
                seen.complete(failure == null ? text(response) + " " + k() : failure.toString());
                if (Thread.currentThread()
                        != calling) { // else the response was there first, and this is the caller's own
                    misuse(Math.abs(request.hashCode()));
                }
            });
            return seen;
        }
        caller.call(request, new ResponseListener() {
            @Override
            public void onResponse(Response response) {
                seen.complete(text(response) + " " + k());
                misuse(Math.abs(request.hashCode()));
            }

            @Override
            public void onFailure(CallException failure) {
                seen.complete(failure.toString());
            }
        });
        return seen;
    }

    private static String text(Response response) {
        return ((Value.Text) response.value()).value();
    }
}
