package io.waybill.worker.serve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.event.CallEvent;
import io.waybill.api.handler.Outbox;
import io.waybill.api.handler.SelectivelyBlocking;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A non-blocking handler that says for each message whether it blocks. */
@Timeout(300)
class SelectivelyBlockingTest {

    private static final MessageType TYPE = MessageType.userRequest(0x42);
    private static final MessageType ENVELOPE = MessageType.userRequest(0x44);
    private static final byte QUICK = 0;
    private static final byte BLOCKS = 1;
    private static final byte FAILS = 2;
    private static final byte BLOCKS_UNASKED = 3;

    @TempDir
    private Path directory;

    private final Semaphore released = new Semaphore(0);
    private final AtomicInteger handled = new AtomicInteger();
    private Workers workers;
    private HandlerRegistry handlers;
    private Worker caller;

    /** Responds with the name of its thread. */
    private final class Selecting implements SelectivelyBlocking {

        @Override
        public boolean blocks(Message message) {
            byte first = message.payload().get(0);
            if (first == FAILS) {
                throw new IllegalStateException("it can't say");
            }
            return first == BLOCKS;
        }

        @Override
        public void handle(Message message, Outbox outbox) {
            handled.incrementAndGet();
            if (message.payload().get(0) == BLOCKS) {
                released.acquireUninterruptibly();
            }
            outbox.respond(ByteBuffer.wrap(Thread.currentThread().getName().getBytes(StandardCharsets.UTF_8)));
        }
    }

    @BeforeEach
    void prepare() throws Exception {
        workers = new Workers(directory);
        handlers = workers.registry();
        caller = workers.join("caller");
    }

    @AfterEach
    void close() throws Exception {
        released.release(1_000);
        workers.close();
    }

    private Worker serve(ExecutorSettings threads) throws Exception {
        workers.handleOnPoller(handlers, "0x142", new Selecting(), threads);
        return workers.join("server", handlers);
    }

    private static Request request(MessageType type, byte first) {
        return Request.raw("server", type, ByteBuffer.wrap(new byte[] {first}), List.of());
    }

    private static String text(Response response) {
        try (response) {
            return StandardCharsets.UTF_8.decode(response.payload()).toString();
        }
    }

    @Test
    void runsOnThePollerOrOnAThreadOfItsBundle() throws Exception {
        serve(ExecutorSettings.forProcessors(2));
        CompletableFuture<Response> blocked = caller.callAsync(request(TYPE, BLOCKS));
        Waits.until("the handler has begun", () -> handled.get() == 1);
        for (int i = 0; i < 100; i++) {
            assertThat(text(caller.call(request(TYPE, QUICK)))).startsWith("server-poller");
        }
        assertThat(blocked).isNotDone();
        released.release();
        assertThat(text(blocked.join())).startsWith("test-0x142-handler");
        assertThat(handled).hasValue(101);
    }

    @Test
    void failsTheCallWithWhatItThrowsInsteadOfSaying() throws Exception {
        serve(ExecutorSettings.forProcessors(2));
        CallException failed = catchThrowableOfType(CallException.class, () -> caller.call(request(TYPE, FAILS)));
        assertThat(failed.code()).isEqualTo(ErrorCode.HANDLER_FAILED);
        assertThat(failed).hasMessageContaining("it can't say");
        assertThat(handled).hasValue(0);
        assertThat(text(caller.call(request(TYPE, QUICK)))).startsWith("server-poller");
    }

    @Test
    void leavesRequestsInTheJournalWhenItsBundleHasNoThreadLeft() throws Exception {
        serve(new ExecutorSettings(1, 1, 0, 0, Duration.ofSeconds(10)));
        CompletableFuture<Response> first = caller.callAsync(request(TYPE, BLOCKS));
        Waits.until("the handler has begun", () -> handled.get() == 1);
        List<CompletableFuture<Response>> more = List.of(
                caller.callAsync(request(TYPE, BLOCKS)),
                caller.callAsync(request(TYPE, QUICK)),
                caller.callAsync(request(TYPE, BLOCKS)));
        Waits.until(
                "they are parked, or refused",
                () -> handlers.statuses().get(0).parked() == more.size()
                        || more.stream().anyMatch(CompletableFuture::isDone));
        released.release(3);
        first.join().close();
        for (CompletableFuture<Response> each : more) {
            assertThat(text(each.join())).isNotEmpty();
        }
        assertThat(handled).hasValue(4);
    }

    @Test
    void isReportedOnceForEachRequest() throws Exception {
        AtomicInteger begun = new AtomicInteger();
        handlers.events().add("test", event -> {
            if (event.kind() == CallEvent.Kind.BEGUN) {
                begun.incrementAndGet();
            }
        });
        serve(ExecutorSettings.forProcessors(2));
        released.release();
        caller.call(request(TYPE, BLOCKS)).close();
        caller.call(request(TYPE, QUICK)).close();
        assertThat(begun).hasValue(2);
    }

    @Test
    void blocksNoNonBlockingHandlerThatDispatchesToIt() throws Exception {
        workers.handleOnPoller(handlers, "0x144", (message, outbox) -> {
            try (Response inner = outbox.dispatch(TYPE, message.payload(), List.of(), List.of())) {
                outbox.respond(inner.payload());
            }
        });
        workers.handle(handlers, "0x146", (message, outbox) -> {
            try (Response inner = outbox.dispatch(TYPE, message.payload(), List.of(), List.of())) {
                outbox.respond(inner.payload());
            }
        });
        serve(ExecutorSettings.forProcessors(2));
        CallException refused =
                catchThrowableOfType(CallException.class, () -> caller.call(request(ENVELOPE, BLOCKS_UNASKED)));
        assertThat(refused).hasMessageContaining("must not wait");
        assertThat(handled).hasValue(0);
        released.release();
        assertThat(text(caller.call(request(MessageType.userRequest(0x46), BLOCKS))))
                .doesNotStartWith("server-poller");
    }
}
