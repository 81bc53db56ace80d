package io.waybill.exchange;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.handler.LateResponse;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.StuckSettings;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.Workers;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The deadline of a dispatched message, in a worker that takes no handler for stuck. */
@Timeout(180)
class DispatchDeadlineTest {

    private static final WorkerSettings PATIENT = Workers.SETTINGS.toBuilder()
            .stuck(new StuckSettings(Duration.ofHours(1).toNanos(), 0, 1000))
            .build();

    @TempDir
    private Path directory;

    private final CountDownLatch released = new CountDownLatch(1);
    private final CompletableFuture<ErrorCode> outcome = new CompletableFuture<>();

    @Test
    void endsAnAsynchronousDispatchWhoseHandlerDoesNotReturn() throws Exception {
        try (Workers workers = new Workers(directory)) {
            HandlerRegistry handlers = workers.registry();
            CountDownLatch begun = new CountDownLatch(1);
            workers.handle(handlers, "text.hangs", (message, outbox) -> {
                begun.countDown();
                await();
            });
            workers.handle(handlers, "text.outer", (message, outbox) -> {
                LateResponse late = outbox.later();
                Request inner = Request.operation("inside", "text.hangs");
                ByteBuffer payload = ByteBuffer.wrap(inner.payloadArray(), 0, inner.payloadLength());
                outbox.dispatchAsync(MessageType.NAMED_CALL, payload, List.of(), List.of())
                        .whenComplete((response, failure) -> {
                            outcome.complete(failure instanceof CallException known ? known.code() : null);
                            late.fail(ErrorCode.REFUSED, "ended");
                        });
            });
            workers.join("server", handlers, PATIENT);
            Worker caller = workers.join("caller");
            try {
                Waits.until("the inner handler has begun", () -> {
                    assertThatThrownBy(() -> caller.call(
                                    Request.operation("server", "text.outer").timeout(Duration.ofMillis(300))))
                            .isInstanceOf(CallException.class);
                    return begun.getCount() == 0;
                });
                Waits.until("the dispatched message has an outcome at its deadline", outcome::isDone);
                assertThat(outcome.join()).isEqualTo(ErrorCode.TIMED_OUT);
            } finally {
                released.countDown();
            }
        }
    }

    private void await() {
        try {
            released.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
