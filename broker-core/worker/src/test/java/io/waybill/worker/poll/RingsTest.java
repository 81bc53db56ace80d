package io.waybill.worker.poll;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.MessageHandler;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.testing.core.Seeds;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Where a record may arrive, one thread polls, or one waits on the doorbell: no record is found because a rest was over. Counts those that are, over
 * calls with handlers and pauses of many lengths. One that was written when a rest of 50 or 500 ms ended anyhow is counted, too; a ring that is left
 * out makes it many of them.
 */
@Timeout(300)
class RingsTest {

    private static final int CALLS = 200; // of each thread
    private static final int THREADS = 6;
    private static final int MAX_LATE_SHARE = 100; // one in so many

    @TempDir
    private Path directory;

    private final Random random = Seeds.random();
    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private final List<Thread> threads = new ArrayList<>();
    private Workers workers;
    private HandlerRegistry served;
    private HandlerRegistry own; // of the caller
    private Worker server;
    private Worker middle;
    private Worker caller;
    private Worker other;

    private void join(Waiting waiting) throws IOException {
        workers = new Workers(directory);
        served = workers.registry();
        own = workers.registry();
        WorkerSettings settings = Workers.SETTINGS.toBuilder().waiting(waiting).build();
        HandlerRegistry between = workers.registry();
        server = workers.join("server", served, settings);
        middle = workers.join("middle", between, settings);
        caller = workers.join("caller", own, settings);
        other = workers.join("other", workers.registry(), settings);
        MessageHandler slow = (message, outbox) -> {
            pause(message.int64("micros"));
            outbox.respond(Value.of("on"));
        };
        workers.handle(served, "text.slow", slow);
        workers.handleOnPoller(served, "text.quick", (message, outbox) -> outbox.respond(Value.of("on")));
        workers.handle(own, "text.back", slow);
        workers.handle(between, "text.nested", (message, outbox) -> {
            try (Response response = middle.call(to("server", "text.slow", message.int64("micros")))) {
                outbox.respond(response.value());
            }
        });
    }

    @AfterEach
    void leave() throws IOException {
        workers.close();
    }

    private void pause(long micros) {
        if (micros > 0) {
            workers.host.threads().pause(TimeUnit.MICROSECONDS.toNanos(micros));
        }
    }

    private static Request to(String worker, String operation, long micros) {
        Request request = Request.operation(worker, operation).timeout(Duration.ofSeconds(100));
        request.body().int64("micros", micros);
        return request;
    }

    /** From a thread of its own: blocking calls, or some whose responses no thread waits for by polling. */
    private void calls(Worker from, String to, String operation, boolean blocking) {
        Random own = new Random(random.nextLong());
        threads.add(workers.host.threads().start(to + "." + operation, () -> {
            try {
                for (int i = 0; i < CALLS && failure.get() == null && late() <= maxLate(); i++) {
                    Request request = to(to, operation, own.nextInt(2_000));
                    try (Response response = blocking
                            ? from.call(request)
                            : from.callAsync(request).get(100, TimeUnit.SECONDS)) {
                        assertThat(response.value()).isEqualTo(Value.of("on"));
                    }
                    pause(own.nextBoolean() ? 0 : own.nextInt(2_000));
                }
            } catch (Throwable e) {
                failure.compareAndSet(null, e);
            }
        }));
    }

    /** A caller that spins is inside a handler that should have returned, while the poller sleeps and no peer rings. */
    @Test
    void aHandlerThatHangsOnAThreadThatPollsKeepsNoOtherRequest() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch held = new CountDownLatch(1);
        CountDownLatch hang = new CountDownLatch(1);
        AtomicReference<Thread> hangs = new AtomicReference<>();
        join(Waiting.SPIN);
        workers.handle(served, "text.held", (message, outbox) -> {
            begun.countDown();
            awaitUninterrupted(held);
            outbox.respond(Value.of("on"));
        });
        workers.handleOnPoller(own, "text.hangs", (message, outbox) -> {
            hangs.set(Thread.currentThread());
            awaitUninterrupted(hang);
            outbox.respond(Value.of("late"));
        });
        Thread polls = workers.host.threads().start("polls", () -> {
            try (Response response = caller.call(to("server", "text.held", 0))) {
                assertThat(response.value()).isEqualTo(Value.of("on"));
            } catch (Throwable e) {
                failure.compareAndSet(null, e);
            }
        });
        awaitUninterrupted(begun);
        CompletableFuture<Response> late = other.callAsync(to("caller", "text.hangs", 0));
        Waits.until("the handler hangs", () -> hangs.get() != null);
        try (Response response = other.call(to("caller", "text.back", 0))) {
            assertThat(response.value()).isEqualTo(Value.of("on"));
        }
        assertThat(hangs.get()).as("the thread that the handler hangs on").isEqualTo(polls);
        hang.countDown();
        held.countDown();
        late.get(100, TimeUnit.SECONDS).close();
        polls.join(TimeUnit.SECONDS.toMillis(100));
        assertThat(failure.get()).isNull();
    }

    private static void awaitUninterrupted(CountDownLatch latch) {
        try {
            latch.await(200, TimeUnit.SECONDS);
        } catch (InterruptedException e) { // its worker leaves
            Thread.currentThread().interrupt();
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Waiting.class,
            names = {"BALANCED", "LOW_CPU"})
    void noRecordWaitsUntilARestIsOver(Waiting waiting) throws Exception {
        join(waiting);
        calls(caller, "server", "text.slow", true);
        calls(caller, "server", "text.quick", true);
        calls(caller, "middle", "text.nested", true);
        calls(caller, "server", "text.slow", false);
        calls(other, "caller", "text.back", false);
        calls(other, "middle", "text.nested", true);
        assertThat(threads).hasSize(THREADS);
        for (Thread thread : threads) {
            thread.join(TimeUnit.SECONDS.toMillis(280));
            assertThat(thread.isAlive())
                    .as("whether %s still calls; polls that found records late: %s", thread.getName(), late())
                    .isFalse();
        }
        assertThat(failure.get()).isNull();
        assertThat(late())
                .as(
                        "polls, for %s calls, that found records only because a rest was over: a ring was left out",
                        THREADS * CALLS)
                .isLessThanOrEqualTo(maxLate());
    }

    private long late() {
        return Stream.of(server, middle, caller, other)
                .mapToLong(Workers::foundLate)
                .sum();
    }

    private static long maxLate() {
        return THREADS * CALLS / MAX_LATE_SHARE - 1;
    }
}
