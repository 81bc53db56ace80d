package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.broker.Broker;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.testing.core.Waits;
import io.waybill.worker.poll.Waiting;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** {@link Broker#await}: which thread may wait, what completes the future meanwhile, and what ends the wait. */
@Timeout(240)
class AwaitTest {

    @TempDir
    Path directory;

    private Workers workers;
    private HandlerRegistry registry;

    @BeforeEach
    void prepare() throws Exception {
        workers = new Workers(directory);
        registry = workers.registry();
        workers.handle(
                registry, "text.count", (message, outbox) -> outbox.response().int64("words", 6));
        workers.handle(registry, "text.hang", (message, outbox) -> outbox.later());
    }

    @AfterEach
    void close() throws Exception {
        workers.close();
    }

    /** The broker of a program beside a server with these handlers. */
    private Broker broker(Waiting waiting) throws Exception {
        workers.join("server", registry);
        WorkerSettings settings = Workers.SETTINGS.toBuilder().waiting(waiting).build();
        return workers.join("client", workers.registry(), settings).broker();
    }

    /** What one wait did, on a thread of its own. */
    private static final class Wait {

        private final CompletableFuture<Throwable> ended = new CompletableFuture<>(); // with null when it returned
        private final CompletableFuture<Boolean> isInterrupted = new CompletableFuture<>(); // afterwards
        private final Thread thread;

        Wait(Broker broker, Future<?> future) {
            thread = new Thread(() -> run(broker, future), "waiting");
            thread.setDaemon(true);
            thread.start();
        }

        private void run(Broker broker, Future<?> future) {
            Throwable thrown = null;
            try {
                broker.await(future);
            } catch (InterruptedException | RuntimeException e) {
                thrown = e;
            }
            isInterrupted.complete(Thread.currentThread().isInterrupted());
            ended.complete(thrown);
        }

        void awaitParked() {
            Waits.until("the waiting thread is parked", () -> thread.getState() == Thread.State.TIMED_WAITING);
        }

        Throwable end(String why) {
            Waits.until("the wait ends, because " + why, ended::isDone);
            return ended.join();
        }
    }

    /** Calls, with a listener: what is added to a future that has its response already runs on the thread that adds it. */
    private static void whenCounted(Broker broker, Runnable then) {
        broker.caller().call(Request.operation("server", "text.count"), new ResponseListener() {
            @Override
            public void onResponse(Response response) {
                response.close();
                then.run();
            }

            @Override
            public void onFailure(CallException failure) {
                throw new AssertionError(failure);
            }
        });
    }

    @ParameterizedTest
    @EnumSource
    void returnsWhenTheFutureIsDone(Waiting waiting) throws Exception {
        Broker broker = broker(waiting);
        for (int i = 0; i < 200; i++) {
            CompletableFuture<Void> seen = new CompletableFuture<>();
            whenCounted(broker, () -> seen.complete(null));
            broker.await(seen);
            assertThat(seen)
                    .as("the future of wait %d, when the wait returns", i)
                    .isDone();
        }
    }

    @Test
    void pollsOnTheThreadThatWaits() throws Exception {
        Broker broker = broker(Waiting.BALANCED);
        Thread waiter = Thread.currentThread();
        Set<Thread> completing = new HashSet<>();
        long untilNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(120);
        while (!completing.contains(waiter) && System.nanoTime() < untilNs) {
            LockSupport.parkNanos(100_000); // so that the poller, which has the right at times, falls asleep
            assertThat(broker.mayWait()).isTrue();
            CompletableFuture<Boolean> seen = new CompletableFuture<>();
            whenCounted(broker, () -> {
                completing.add(Thread.currentThread());
                seen.complete(broker.mayWait());
            });
            broker.await(seen);
            assertThat(seen.get(0, TimeUnit.SECONDS))
                    .as("whether a listener may wait")
                    .isFalse();
        }
        assertThat(completing).as("the threads that completed it").contains(waiter);
    }

    @Test
    void returnsWhenAnotherThreadCompletesIt() throws Exception {
        Broker broker = broker(Waiting.BALANCED);
        CompletableFuture<Void> future = new CompletableFuture<>();
        Wait wait = new Wait(broker, future);
        wait.awaitParked();
        future.complete(null);
        assertThat(wait.end("another thread completed the future")).isNull();
    }

    @ParameterizedTest
    @EnumSource
    void callsThatTimeOutEndWhileOneThreadWaits(Waiting waiting) throws Exception {
        Broker broker = broker(waiting);
        CompletableFuture<ErrorCode> outcome = new CompletableFuture<>();
        Request request = Request.operation("server", "text.hang").timeout(Duration.ofMillis(300));
        broker.caller().call(request, new ResponseListener() {
            @Override
            public void onResponse(Response response) {
                outcome.completeExceptionally(new AssertionError("a handler that hangs has responded"));
            }

            @Override
            public void onFailure(CallException failure) {
                outcome.complete(failure.code());
            }
        });
        assertThat(new Wait(broker, outcome).end("its call has timed out")).isNull();
        assertThat(outcome.get(0, TimeUnit.SECONDS)).isEqualTo(ErrorCode.TIMED_OUT);
    }

    @Test
    void refusesToWaitOnThePoller() throws Exception {
        Broker broker = broker(Waiting.BALANCED);
        CompletableFuture<Void> waited = new CompletableFuture<>();
        whenCounted(broker, () -> {
            try {
                broker.await(CompletableFuture.completedFuture("done"));
                broker.await(new CompletableFuture<>());
                waited.complete(null);
            } catch (InterruptedException | IllegalStateException e) {
                waited.completeExceptionally(e);
            }
        });
        broker.await(waited);
        assertThat(waited).isDone();
        assertThatThrownBy(waited::join).hasCauseInstanceOf(IllegalStateException.class);
    }

    @Test
    void refusesToWaitInANonBlockingHandler() throws Exception {
        Broker[] server = new Broker[1];
        workers.handleOnPoller(registry, "text.wait", (message, outbox) -> {
            assertThat(server[0].mayWait()).isFalse();
            try {
                server[0].await(new CompletableFuture<>());
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        server[0] = workers.join("server", registry).broker();
        Broker client = workers.join("client").broker();
        assertThatThrownBy(() -> client.caller().call(Request.operation("server", "text.wait")))
                .isInstanceOfSatisfying(
                        CallException.class,
                        failure -> assertThat(failure.code()).isEqualTo(ErrorCode.HANDLER_FAILED))
                .hasMessageContaining(IllegalStateException.class.getName());
    }

    @Test
    void aHandlerThatMayBlockWaitsForWhatItsOwnCallsComplete() throws Exception {
        Broker[] client = new Broker[1];
        HandlerRegistry waiting = workers.registry();
        workers.handle(waiting, "text.wait", (message, outbox) -> {
            CompletableFuture<Void> seen = new CompletableFuture<>();
            whenCounted(client[0], () -> seen.complete(null));
            try {
                client[0].await(seen);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            outbox.response().int64("done", seen.isDone() ? 1 : 0);
        });
        client[0] = workers.join("client", waiting).broker();
        Broker server = workers.join("server", registry).broker();
        try (Response response = server.caller().call(Request.operation("client", "text.wait"))) {
            assertThat(response.int64("done")).isEqualTo(1);
        }
    }

    @Test
    void anInterruptEndsTheWaitOfAThreadThatIsParked() throws Exception {
        Broker broker = broker(Waiting.BALANCED);
        CompletableFuture<Void> never = new CompletableFuture<>();
        Wait wait = new Wait(broker, never);
        wait.awaitParked();
        wait.thread.interrupt();
        assertThat(wait.end("it was interrupted")).isInstanceOf(InterruptedException.class);
        assertThat(wait.isInterrupted.join())
                .as("interrupted after the exception")
                .isFalse();
        never.complete(null);
        broker.await(never); // done: returns at once
    }

    @Test
    void anInterruptEndsTheWaitOfAThreadThatPolls() throws Exception {
        Broker broker = broker(Waiting.SPIN);
        Wait wait = new Wait(broker, new CompletableFuture<>());
        Waits.until(
                "it waits",
                () -> Arrays.stream(wait.thread.getStackTrace())
                        .anyMatch(frame -> frame.getMethodName().equals("await")));
        wait.thread.interrupt();
        assertThat(wait.end("it was interrupted")).isInstanceOf(InterruptedException.class);
        assertThat(wait.isInterrupted.join())
                .as("interrupted after the exception")
                .isFalse();
    }

    @Test
    void anInterruptBeforeTheWaitEndsItUnlessTheFutureIsDone() throws Exception {
        Broker broker = broker(Waiting.BALANCED);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> broker.await(new CompletableFuture<>())).isInstanceOf(InterruptedException.class);
        Thread.currentThread().interrupt();
        broker.await(CompletableFuture.completedFuture("done"));
        assertThat(Thread.interrupted())
                .as("the interrupt of a wait that had ended")
                .isTrue();
    }

    @Test
    void anInterruptThatComesWithTheOutcomeIsKept() throws Exception {
        Broker broker = broker(Waiting.SPIN);
        Thread waiter = Thread.currentThread();
        boolean[] isMine = new boolean[1];
        for (int i = 0; i < 1_000 && !isMine[0]; i++) {
            CompletableFuture<Void> seen = new CompletableFuture<>();
            whenCounted(broker, () -> {
                isMine[0] =
                        Thread.currentThread() == waiter; // which polls: it sees the outcome and the interrupt at once
                seen.complete(null);
                if (isMine[0]) {
                    waiter.interrupt();
                }
            });
            broker.await(seen);
        }
        assertThat(isMine[0]).as("a response came to the waiting thread").isTrue();
        assertThat(Thread.interrupted()).as("the interrupt, after the wait").isTrue();
    }

    /** A future of a bundle's own. */
    private static final class Throwing extends CompletableFuture<Void> {

        @Override
        public boolean isDone() {
            throw new UnsupportedOperationException("planted");
        }
    }

    @Test
    void aFutureThatThrowsEndsItsOwnWaitAlone() throws Exception {
        Broker broker = broker(Waiting.BALANCED);
        assertThatThrownBy(() -> broker.await(new Throwing()))
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessage("planted");
        CompletableFuture<Void> seen = new CompletableFuture<>();
        whenCounted(broker, () -> seen.complete(null));
        assertThat(new Wait(broker, seen).end("its call has a response")).isNull();
    }

    @Test
    void aWaitEndsWithTheWorkerThatItsCallsAreOf() throws Exception {
        workers.join("server", registry);
        Worker client = workers.join("client");
        CompletableFuture<Response> hanging =
                client.broker().caller().callAsync(Request.operation("server", "text.hang"));
        Wait wait = new Wait(client.broker(), hanging);
        wait.awaitParked();
        client.close();
        assertThat(wait.end("the worker has closed")).isNull();
        assertThat(hanging).isCompletedExceptionally();
    }
}
