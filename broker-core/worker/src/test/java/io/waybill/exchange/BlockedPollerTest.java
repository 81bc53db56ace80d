package io.waybill.exchange;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A non-blocking handler of which one call blocks, while other handlers dispatch messages to it. */
@Timeout(300)
class BlockedPollerTest {

    private static final MessageType QUICK = MessageType.userRequest(0x42);
    private static final byte BLOCKS = 1;

    @TempDir
    private Path directory;

    @Test
    void aNonBlockingEnvelopeStillDispatches() throws Exception {
        CountDownLatch released = new CountDownLatch(1);
        try (Workers workers = new Workers(directory)) {
            HandlerRegistry handlers = workers.registry();
            workers.handleOnPoller(handlers, "0x142", (message, outbox) -> {
                if (message.payload().get(0) == BLOCKS) {
                    await(released);
                }
                outbox.respond(message.payload());
            });
            workers.handleOnPoller(handlers, "0x144", (message, outbox) -> {
                try (Response inner = outbox.dispatch(QUICK, message.payload(), List.of(), List.of())) {
                    outbox.respond(inner.payload());
                }
            });
            workers.join("server", handlers);
            Worker caller = workers.join("caller");
            CompletableFuture<Response> blocked = caller.callAsync(request(QUICK, BLOCKS));
            HandlerEntry quick = handlers.table().forKey(HandlerKey.parse("0x142"));
            Waits.until("a call is known to block its poller", () -> !quick.runsOnPoller());
            try (Response response = caller.call(request(MessageType.userRequest(0x44), (byte) 0))) {
                assertThat(response.payload().get(0)).isZero();
            } finally {
                released.countDown();
            }
            blocked.join().close();
        }
    }

    private static Request request(MessageType type, byte first) {
        return Request.raw("server", type, ByteBuffer.wrap(new byte[] {first}), List.of());
    }

    private static void await(CountDownLatch released) {
        try {
            released.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
