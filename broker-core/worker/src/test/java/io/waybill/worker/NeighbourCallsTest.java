package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.Message;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.broker.JoinedWorker;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.NonBlocking;
import io.waybill.api.handler.Outbox;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.testing.core.Waits;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Threads that poll for the workers of their process to which they have sent something. */
@Timeout(300)
class NeighbourCallsTest {

    @TempDir
    private Path directory;

    private Workers workers;
    private Worker gateway;
    private final AtomicReference<Thread> handledOn = new AtomicReference<>();

    /** Notes the thread that it runs on. */
    @NonBlocking
    private final class Noting implements MessageHandler {
        @Override
        public void handle(Message message, Outbox outbox) {
            handledOn.set(Thread.currentThread());
            outbox.response().text("by", outbox.toString());
        }
    }

    @BeforeEach
    void prepare() throws Exception {
        workers = new Workers(directory);
        gateway = workers.join("gateway");
    }

    @AfterEach
    void close() throws Exception {
        workers.close();
    }

    private JoinedWorker join(String name, MessageHandler handler) {
        return gateway.broker().join(name, OptionalInt.empty(), List.of("text.*"), handler);
    }

    private static CompletableFuture<Response> send(JoinedWorker from, String to) {
        AtomicReference<CompletableFuture<Response>> sent = new AtomicReference<>();
        from.sendAndPoll(() -> sent.set(from.broker().caller().callAsync(Request.operation(to, "text.count"))));
        return sent.get();
    }

    @Test
    void theSenderServesAndCompletesTheCallOfThoseThatSleep() {
        try (JoinedWorker one = join("one", new Noting());
                JoinedWorker two = join("two", new Noting())) {
            AtomicReference<Thread> completedOn = new AtomicReference<>();
            Waits.until("both slept, and the thread that sent did all of it", () -> {
                CompletableFuture<Response> call = send(one, "two");
                boolean here = call.isDone() && handledOn.get() == Thread.currentThread();
                call.thenRun(() -> completedOn.set(Thread.currentThread())).join();
                call.join().close();
                return here && completedOn.get() == Thread.currentThread();
            });
            Waits.until("the same the other way round", () -> {
                CompletableFuture<Response> call = send(two, "one");
                boolean here = call.isDone() && handledOn.get() == Thread.currentThread();
                call.join().close();
                return here;
            });
        }
    }

    @Test
    void othersAreWokenAsEver() throws Exception {
        HandlerRegistry handlers = workers.registry();
        workers.handleOnPoller(handlers, "text.count", new Noting());
        workers.join("stranger", handlers);
        try (JoinedWorker one = join("one", new Noting())) {
            for (int i = 0; i < 20; i++) {
                send(one, "stranger").get(60, TimeUnit.SECONDS).close();
                assertThat(handledOn.get().getName()).startsWith("stranger-poller");
                TimeUnit.MILLISECONDS.sleep(5); // it sleeps by then
            }
        }
    }

    @Test
    void doesNotWaitForAHandlerThatBlocks() throws Exception {
        CountDownLatch released = new CountDownLatch(1);
        try (JoinedWorker one = join("one", new Noting());
                JoinedWorker two = join("two", (message, outbox) -> {
                    handledOn.set(Thread.currentThread());
                    try {
                        released.await();
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                    outbox.response().text("by", "two");
                })) {
            assertThat(two).isNotNull();
            CompletableFuture<Response> call = send(one, "two"); // returns
            Waits.until("the handler has begun", () -> handledOn.get() != null);
            assertThat(handledOn.get()).isNotSameAs(Thread.currentThread());
            assertThat(call).isNotDone();
            released.countDown();
            call.get(60, TimeUnit.SECONDS).close();
        }
    }

    @Test
    void pollsForWhatWasSentBeforeAnException() throws Exception {
        try (JoinedWorker one = join("one", new Noting());
                JoinedWorker two = join("two", new Noting())) {
            assertThat(two).isNotNull();
            AtomicReference<CompletableFuture<Response>> sent = new AtomicReference<>();
            Waits.until("it slept, and was served here in spite of the exception", () -> {
                assertThatThrownBy(() -> one.sendAndPoll(() -> {
                            sent.set(one.broker().caller().callAsync(Request.operation("two", "text.count")));
                            throw new IllegalStateException("after that");
                        }))
                        .hasMessage("after that");
                boolean here = sent.get().isDone() && handledOn.get() == Thread.currentThread();
                sent.get().join().close();
                return here;
            });
        }
    }

    @Test
    void aCallThatWaitsInItIsServed() throws Exception {
        try (JoinedWorker one = join("one", new Noting());
                JoinedWorker two = join("two", new Noting())) {
            assertThat(two).isNotNull();
            for (int i = 0; i < 20; i++) {
                one.sendAndPoll(() -> one.broker()
                        .caller()
                        .call(Request.operation("two", "text.count"))
                        .close());
                TimeUnit.MILLISECONDS.sleep(5); // both sleep by then
            }
        }
    }

    @Test
    void aLongTalkOfTwoKeepsNoThread() throws Exception {
        AtomicReference<JoinedWorker> one = new AtomicReference<>();
        AtomicReference<JoinedWorker> two = new AtomicReference<>();
        Talk talk = new Talk(Thread.currentThread());
        one.set(join("one", new Passing(one, "two", talk)));
        two.set(join("two", new Passing(two, "one", talk)));
        try {
            Waits.until("both slept when it began", () -> {
                TimeUnit.MILLISECONDS.sleep(20);
                talk.steps.set(0);
                CompletableFuture<Response> call = send(one.get(), "two");
                Waits.until("the talk is over", () -> talk.steps.get() >= Talk.LENGTH);
                assertThat(call).isNotDone();
                return talk.here.get() > 0;
            });
            assertThat(talk.here.get()).as("steps on the thread that began it").isLessThan(Talk.LENGTH / 2);
        } finally {
            one.get().close();
            two.get().close();
        }
    }

    /** Requests that two workers pass on to each other, without a response. */
    private static final class Talk {
        static final int LENGTH = 1_000;

        final Thread beginner;
        final AtomicInteger steps = new AtomicInteger();
        final AtomicInteger here = new AtomicInteger();

        Talk(Thread beginner) {
            this.beginner = beginner;
        }
    }

    @NonBlocking
    private record Passing(AtomicReference<JoinedWorker> own, String other, Talk talk) implements MessageHandler {

        @Override
        public void handle(Message message, Outbox outbox) {
            LateResponse never = outbox.later();
            assertThat(never).isNotNull();
            if (Thread.currentThread() == talk.beginner) {
                talk.here.incrementAndGet();
            }
            if (talk.steps.incrementAndGet() < Talk.LENGTH) {
                CompletableFuture<Response> next =
                        own.get().broker().caller().callAsync(Request.operation(other, "text.count"));
                assertThat(next).isNotNull();
            }
        }
    }

    @Test
    void theNextWorkerOfANameIsPolledFor() throws Exception {
        JoinedWorker two = join("two", new Noting());
        try (JoinedWorker one = join("one", new Noting())) {
            send(one, "two").get(60, TimeUnit.SECONDS).close();
            two.close();
            assertThatThrownBy(() -> send(one, "two").join())
                    .isInstanceOfAny(CallException.class, CompletionException.class);
            try (JoinedWorker again = join("two", new Noting())) {
                assertThat(again).isNotNull();
                handledOn.set(null);
                Waits.until("the next one of its name is polled for", () -> {
                    try {
                        send(one, "two").join().close();
                    } catch (CallException | CompletionException e) { // the former one is still known
                        return false;
                    }
                    return handledOn.get() == Thread.currentThread();
                });
            }
        }
    }
}
