package io.waybill.worker.call;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A worker that responds to a call that went to another one. */
@Timeout(120)
class ForgedResponseTest {

    @TempDir
    private Path directory;

    @Test
    void isDroppedAsDamagedAndTheCallGetsTheResponseOfItsOwnPeer() throws Exception {
        CountDownLatch mayRespond = new CountDownLatch(1);
        AtomicLong asked = new AtomicLong(-1);
        try (Workers workers = new Workers(directory)) {
            HandlerRegistry handlers = workers.registry();
            workers.handle(handlers, "test.slow", (message, outbox) -> {
                asked.set(message.id());
                try {
                    assertThat(mayRespond.await(60, TimeUnit.SECONDS)).isTrue();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
                outbox.respond(Value.of("its own peer's"));
            });
            workers.join("asked", handlers);
            HandlerRegistry others = workers.registry();
            workers.handle(others, "test.echo", (message, outbox) -> outbox.respond(Value.of("echo")));
            Worker forger = workers.join("forger", others);
            Worker caller = workers.join("caller");
            caller.call(Request.operation("forger", "test.echo")).close();

            CompletableFuture<Response> response = caller.callAsync(Request.operation("asked", "test.slow"));
            Waits.until("the handler runs", () -> asked.get() >= 0);
            Workers.respondAs(forger, caller, asked.get(), Value.of("the forger's"));
            caller.call(Request.operation("forger", "test.echo")).close(); // what it wrote before is read, too
            assertThat(response).as("the call that another worker responded to").isNotDone();
            assertThat(caller.counters().damagedRecords())
                    .as("records that are no response")
                    .isOne();
            mayRespond.countDown();
            try (Response own = response.get(60, TimeUnit.SECONDS)) {
                assertThat(own.value()).isEqualTo(Value.of("its own peer's"));
            }
        } finally {
            mayRespond.countDown();
        }
    }
}
