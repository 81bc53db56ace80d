package io.waybill.foreign;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.waybill.api.ErrorCode;
import io.waybill.api.Request;
import io.waybill.api.Value;
import io.waybill.api.handler.LateResponse;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Deferred responses that are completed twice, by several threads, or after their end. */
@Timeout(300)
class LateResponseRowsTest {

    /** How a response is completed. */
    enum Way {
        FIELDS(late -> {
            late.body().value("v", Value.of(1));
            late.send();
        }),
        VALUE(late -> late.send(Value.of(1))),
        BYTES(late -> late.send(ByteBuffer.allocate(1), List.of())),
        ERROR(late -> late.fail(ErrorCode.REFUSED, "late")),
        NULLS(late -> late.send(null, null)),
        NULL_VALUE(late -> late.send((Value) null));

        private final Consumer<LateResponse> step;

        Way(Consumer<LateResponse> step) {
            this.step = step;
        }

        void take(LateResponse late) {
            catchThrowable(() -> step.accept(late));
        }
    }

    @TempDir
    private Path directory;

    private final BlockingQueue<LateResponse> given = new LinkedBlockingQueue<>();
    private ForeignNode node;
    private HandlerRegistry.Registration registration;

    @BeforeEach
    void join() throws IOException {
        node = new ForeignNode(directory);
        registration =
                node.workers.handle(node.handlers, ForeignNode.CALL, (message, outbox) -> given.add(outbox.later()));
    }

    @AfterEach
    void leave() throws IOException {
        node.close();
    }

    private LateResponse called(ForeignNode.Outcomes outcomes, Duration deadline) throws InterruptedException {
        node.caller.call(Request.operation("server", ForeignNode.CALL).timeout(deadline), outcomes);
        LateResponse late = given.poll(60, TimeUnit.SECONDS);
        assertThat(late).as("the handler defers its response").isNotNull();
        return late;
    }

    private void isOver(Way way, ForeignNode.Outcomes outcomes) {
        Waits.until(way + ": the call has an outcome", () -> outcomes.count.get() > 0);
        node.othersAreServed(way);
        assertThat(outcomes.count.get()).as("%s: outcomes", way).isEqualTo(1);
        node.everythingIsBack(way);
    }

    @ParameterizedTest
    @EnumSource
    void completesOnce(Way way) throws Exception {
        ForeignNode.Outcomes twice = new ForeignNode.Outcomes();
        LateResponse late = called(twice, Duration.ofSeconds(20));
        way.take(late);
        way.take(late);
        late.fail(ErrorCode.HANDLER_FAILED, "once more");
        isOver(way, twice);

        ForeignNode.Outcomes raced = new ForeignNode.Outcomes();
        LateResponse shared = called(raced, Duration.ofSeconds(20));
        CountDownLatch start = new CountDownLatch(1);
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(
                    () -> {
                        catchThrowable(() -> start.await(60, TimeUnit.SECONDS));
                        way.take(shared);
                        shared.fail(ErrorCode.HANDLER_FAILED, "also");
                    },
                    "late-" + i);
            threads[i].start();
        }
        start.countDown();
        for (Thread thread : threads) {
            thread.join(60_000);
        }
        isOver(way, raced);

        ForeignNode.Outcomes expired = new ForeignNode.Outcomes();
        LateResponse tooLate = called(expired, Duration.ofMillis(100));
        Waits.until(way + ": the call timed out", () -> expired.count.get() > 0);
        way.take(tooLate);
        tooLate.fail(ErrorCode.HANDLER_FAILED, "after the deadline");
        isOver(way, expired);

        assertThat(registration.withdraw(Duration.ofSeconds(20)).stillRunning()).isZero();
        way.take(late);
        way.take(tooLate); // its handler has left
        node.othersAreServed(way);
    }
}
