package io.waybill.worker.poll;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** A caller, and a server whose handlers may hang. For one test. */
final class PolledServer implements AutoCloseable {

    static final int BURST = 200;
    static final Duration LONG = Duration.ofSeconds(100);

    final Workers workers;
    final HandlerRegistry handlers;
    final Worker caller;
    private final CountDownLatch hold = new CountDownLatch(1);

    PolledServer(Path directory) throws IOException {
        workers = new Workers(directory);
        handlers = workers.registry();
        workers.join("server", handlers);
        caller = workers.join("caller");
        workers.handle(handlers, "text.other", (message, outbox) -> outbox.respond(Value.of("on")));
        workers.handleOnPoller(handlers, "text.now", (message, outbox) -> outbox.respond(Value.of("on")));
    }

    /** Returns whether a method with this in its name calls the one that asks. */
    static boolean isInside(String method) {
        return StackWalker.getInstance()
                .walk(frames -> frames.anyMatch(frame -> frame.getMethodName().contains(method)));
    }

    static Request to(String operation) {
        return Request.operation("server", operation).timeout(LONG);
    }

    void burst(String operation) {
        List<CompletableFuture<Response>> calls = new ArrayList<>();
        for (int i = 0; i < BURST; i++) {
            calls.add(caller.callAsync(to(operation)));
        }
        calls.forEach(call -> call.join().close());
    }

    void othersAreServed() {
        for (String operation : List.of("text.now", "text.other")) {
            try (Response response = caller.call(to(operation))) {
                assertThat(response.value()).isEqualTo(Value.of("on"));
            }
        }
    }

    /** Hangs until {@link #goOn}. Returns whether it was interrupted. */
    boolean awaitHold() {
        try {
            hold.await(200, TimeUnit.SECONDS);
            return false;
        } catch (InterruptedException e) {
            return true;
        }
    }

    /** Ends all that hangs. */
    void goOn() {
        hold.countDown();
    }

    @Override
    public void close() throws IOException {
        goOn();
        workers.close();
    }
}
