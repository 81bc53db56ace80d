package io.waybill.foreign;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.waybill.api.ErrorCode;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.tensor.Tensor;
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
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
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
        NULL_VALUE(late -> late.send((Value) null)),
        TENSORS((late, tensor) -> {
            tensor.storage().retain(); // for the broker
            late.send(ByteBuffer.allocate(1), List.of(tensor));
        }),
        TENSOR_OF_FIELDS_THAT_ARE_NOT_SENT((late, tensor) -> {
            synchronized (late) { // fields are written by one thread at a time, as LateResponse says
                tensor.storage().retain(); // for the broker
                late.body().tensor("t", tensor);
                late.fail(ErrorCode.REFUSED, "late");
            }
        });

        private final BiConsumer<LateResponse, Tensor> step;

        Way(Consumer<LateResponse> step) {
            this((late, tensor) -> step.accept(late));
        }

        Way(BiConsumer<LateResponse, Tensor> step) {
            this.step = step;
        }

        void take(Given to) {
            catchThrowable(() -> step.accept(to.response, to.tensor));
        }
    }

    /**
     * A deferred response.
     *
     * @param tensor of its request, with a count of the test's own
     */
    private record Given(LateResponse response, Tensor tensor) {

        void release() {
            tensor.storage().release();
        }
    }

    @TempDir
    private Path directory;

    private final BlockingQueue<Given> given = new LinkedBlockingQueue<>();
    private ForeignNode node;
    private HandlerRegistry.Registration registration;

    @BeforeEach
    void join() throws IOException {
        node = new ForeignNode(directory);
        registration = node.workers.handle(node.handlers, ForeignNode.CALL, (message, outbox) -> {
            Tensor tensor = message.tensor("t");
            tensor.storage().retain();
            given.add(new Given(outbox.later(), tensor));
        });
    }

    @AfterEach
    void leave() throws IOException {
        node.close();
    }

    private Given called(ForeignNode.Outcomes outcomes, Duration deadline) throws InterruptedException {
        Tensor tensor = node.tensor(7);
        Request request = Request.operation("server", ForeignNode.CALL).timeout(deadline);
        request.body().tensor("t", tensor);
        node.caller.call(request, outcomes);
        tensor.storage().release();
        Given late = given.poll(60, TimeUnit.SECONDS);
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
        Given late = called(twice, Duration.ofSeconds(20));
        way.take(late);
        way.take(late);
        late.response.fail(ErrorCode.HANDLER_FAILED, "once more");
        late.release();
        isOver(way, twice);

        ForeignNode.Outcomes raced = new ForeignNode.Outcomes();
        Given shared = called(raced, Duration.ofSeconds(20));
        CountDownLatch start = new CountDownLatch(1);
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(
                    () -> {
                        catchThrowable(() -> start.await(60, TimeUnit.SECONDS));
                        way.take(shared);
                        shared.response.fail(ErrorCode.HANDLER_FAILED, "also");
                    },
                    "late-" + i);
            threads[i].start();
        }
        start.countDown();
        for (Thread thread : threads) {
            thread.join(60_000);
        }
        shared.release();
        isOver(way, raced);

        ForeignNode.Outcomes expired = new ForeignNode.Outcomes();
        Given tooLate = called(expired, Duration.ofSeconds(2)); // it must begin before that
        Waits.until(way + ": the call timed out", () -> expired.count.get() > 0);
        way.take(tooLate);
        tooLate.response.fail(ErrorCode.HANDLER_FAILED, "after the deadline");
        tooLate.release();
        isOver(way, expired);

        assertThat(registration.withdraw(Duration.ofSeconds(20)).stillRunning()).isZero();
        Tensor another = node.tensor(8);
        way.take(new Given(late.response, another));
        way.take(new Given(tooLate.response, another)); // its handler has left
        another.storage().release();
        node.othersAreServed(way);
        node.everythingIsBack(way);
    }

    @Test
    void isWhatWasSentFirst() {
        node.workers.handle(node.handlers, "row.first", (message, outbox) -> {
            LateResponse late = outbox.later();
            late.send(Value.of("first"));
            late.body().text("second", "that has no effect");
            late.send();
        });
        try (Response response =
                node.caller.call(Request.operation("server", "row.first").timeout(Duration.ofSeconds(60)))) {
            assertThat(response.value()).isEqualTo(Value.of("first"));
        }
    }
}
