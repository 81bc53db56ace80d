package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.Value;
import io.waybill.api.handler.Outbox;
import io.waybill.api.tensor.Storage;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.error.HomeException;
import io.waybill.host.Host;
import io.waybill.host.Threads;
import io.waybill.journal.Durability;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A worker that is closed: from wherever, whatever runs. */
@Timeout(300)
class WorkerCloseTest {

    private static final WorkerSettings PATIENT =
            Workers.SETTINGS.toBuilder().drainLimit(Duration.ofSeconds(40)).build();
    private static final WorkerSettings HASTY =
            Workers.SETTINGS.toBuilder().drainLimit(Duration.ofMillis(50)).build();

    @TempDir
    private Path directory;

    private final CountDownLatch hold = new CountDownLatch(1);
    private final CountDownLatch begun = new CountDownLatch(1);
    private final AtomicBoolean draining = new AtomicBoolean();
    private final List<String> started = new CopyOnWriteArrayList<>();
    private Workers workers;
    private HandlerRegistry handlers;
    private Worker server;
    private Worker client;

    @BeforeEach
    void joinTwo() throws IOException {
        workers = new Workers(directory);
        handlers = workers.registry();
        workers.handle(handlers, "text.echo", (message, outbox) -> outbox.respond(Value.of("on")));
        workers.handle(handlers, "text.held", (message, outbox) -> {
            begun.countDown();
            awaitHold();
            outbox.respond(Value.of("held"));
        });
    }

    @AfterEach
    void leave() throws IOException {
        hold.countDown();
        workers.close();
    }

    private void join(WorkerSettings ofServer) throws IOException {
        server = workers.join("server", handlers, ofServer, watched());
        client = workers.join("client", workers.registry(), Workers.SETTINGS, watched());
    }

    /** Real threads that show when somebody pauses who closes a worker. */
    private Threads watched() {
        Threads real = Host.real().threads();
        return new Threads() {
            @Override
            public Thread start(String name, Runnable body) {
                started.add(name);
                return real.start(name, body);
            }

            @Override
            public void pause(long ns) {
                draining.compareAndSet(false, isOn("RequestDrain"));
                real.pause(ns);
            }
        };
    }

    private static boolean isOn(String simpleName) {
        return Stream.of(Thread.currentThread().getStackTrace())
                .anyMatch(frame -> frame.getClassName().endsWith("." + simpleName));
    }

    private void awaitHold() {
        try {
            assertThat(hold.await(60, TimeUnit.SECONDS)).as("the test goes on").isTrue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void close(Worker worker) {
        try {
            worker.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Request to(String operation) {
        return Request.operation("server", operation).timeout(Duration.ofSeconds(60));
    }

    private Thread closeElsewhere(Worker worker) {
        Thread thread = new Thread(() -> close(worker), "closes");
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    /** Waits for the close that was begun, and takes the name again. */
    private void isLeft(Worker worker) throws IOException {
        Thread waits = closeElsewhere(worker);
        Waits.until("the close of " + worker.info() + " ends", () -> !waits.isAlive());
        workers.join(worker.info().name(), workers.registry()).close();
    }

    private static ErrorCode failureOf(CompletableFuture<Response> call) throws Exception {
        try (Response response = call.get(30, TimeUnit.SECONDS)) {
            throw new AssertionError("the call got a response: " + response.type());
        } catch (ExecutionException e) {
            return ((CallException) e.getCause()).code();
        }
    }

    // ---- from callbacks

    @Test
    void closesInAStageOfAFuture() throws Exception {
        workers.handle(handlers, "text.never", (message, outbox) -> outbox.later());
        join(Workers.SETTINGS);
        CompletableFuture<Response> other = client.callAsync(to("text.never"));
        CompletableFuture<Void> stage = client.callAsync(to("text.held")).thenAccept(response -> close(client));
        hold.countDown(); // now that the stage is there, which runs on the poller then

        stage.get(30, TimeUnit.SECONDS);
        assertThat(started).as("a poller can't wait for itself").contains("client-closer");
        assertThat(failureOf(other)).isEqualTo(ErrorCode.CLOSED);
        isLeft(client);
    }

    @Test
    void closesInAListenerOfAResponseAndOfAFailure() throws IOException {
        join(PATIENT);
        for (String operation : List.of("text.echo", "text.nobody")) {
            Worker worker = workers.join("of-" + operation.replace('.', '-'), workers.registry());
            AtomicInteger outcomes = new AtomicInteger();
            CountDownLatch returned = new CountDownLatch(1);
            worker.call(to(operation), listener(() -> {
                outcomes.incrementAndGet();
                close(worker);
                returned.countDown();
            }));
            Waits.until("close returns in the listener", () -> returned.getCount() == 0);
            isLeft(worker);
            assertThat(outcomes).hasValue(1);
        }
    }

    private static ResponseListener listener(Runnable onOutcome) {
        return new ResponseListener() {
            @Override
            public void onResponse(Response response) {
                onOutcome.run();
            }

            @Override
            public void onFailure(CallException failure) {
                onOutcome.run();
            }
        };
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void closesInAHandlerWhichGetsAResponse(boolean nonBlocking) throws Exception {
        AtomicReference<Worker> closed = new AtomicReference<>();
        handle("text.closing", nonBlocking, outbox -> {
            close(closed.get());
            outbox.respond(Value.of("bye"));
        });
        join(PATIENT);
        closed.set(server);

        try (Response response = client.callAsync(to("text.closing")).get(30, TimeUnit.SECONDS)) {
            assertThat(response.value()).isEqualTo(Value.of("bye"));
        }
        isLeft(server);
    }

    private void handle(String operation, boolean nonBlocking, Consumer<Outbox> body) {
        if (nonBlocking) {
            workers.handleOnPoller(handlers, operation, (message, outbox) -> body.accept(outbox));
        } else {
            workers.handle(handlers, operation, (message, outbox) -> body.accept(outbox));
        }
    }

    @Test
    void closesFromManyThreadsAndFromAListenerThatHearsOfIt() throws Exception {
        join(PATIENT);
        AtomicInteger outcomes = new AtomicInteger();
        client.call(to("text.held"), listener(() -> {
            outcomes.incrementAndGet();
            close(client);
        }));
        Waits.until("the handler runs", () -> begun.getCount() == 0);

        List<Thread> closing = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            closing.add(closeElsewhere(client));
        }
        closing.forEach(thread -> Waits.until("close returns", () -> !thread.isAlive()));
        assertThat(outcomes).hasValue(1);
        isLeft(client);
    }

    @Test
    void closesWithAnInterruptedThread() throws Exception {
        join(PATIENT);
        CompletableFuture<Boolean> closing = CompletableFuture.supplyAsync(() -> {
            Thread.currentThread().interrupt();
            close(client);
            return Thread.interrupted();
        });
        assertThat(closing.get(30, TimeUnit.SECONDS))
                .as("the interrupt is kept")
                .isTrue();
        isLeft(client);
    }

    @Test
    void leavesThoughAListenerDoesNotComeBack() throws Exception {
        workers.handle(handlers, "text.never", (message, outbox) -> outbox.later());
        join(HASTY);
        client.call(to("text.echo"), listener(() -> {
            begun.countDown();
            awaitHold();
        }));
        Waits.until("the listener runs", () -> begun.getCount() == 0);
        CompletableFuture<Response> other =
                client.callAsync(to("text.never")); // an echo might arrive by another thread

        isLeft(client);
        assertThat(failureOf(other)).isEqualTo(ErrorCode.CLOSED);
    }

    @Test
    void closesInAListenerFromWhichThePermitWasTaken() throws Exception {
        join(Workers.SETTINGS);
        CountDownLatch returned = new CountDownLatch(1);
        client.call(to("text.echo"), listener(() -> {
            begun.countDown();
            awaitHold();
            close(client);
            returned.countDown();
        }));
        Waits.until("the listener runs", () -> begun.getCount() == 0);
        client.callAsync(to("text.echo")).get(30, TimeUnit.SECONDS).close(); // another thread polls

        hold.countDown();
        Waits.until("close returns in the listener", () -> returned.getCount() == 0);
        assertThat(started).contains("client-closer");
        isLeft(client);
    }

    // ---- what runs

    @Test
    void waitsForWhatWasBegunAndBeginsNothing() throws Exception {
        AtomicInteger later = new AtomicInteger();
        workers.handle(handlers, "text.later", (message, outbox) -> later.incrementAndGet());
        join(PATIENT);
        CompletableFuture<Response> running = client.callAsync(to("text.held"));
        Waits.until("the handler runs", () -> begun.getCount() == 0);

        Thread closing = closeElsewhere(server);
        Waits.until("the worker waits for its handler", draining::get);
        CompletableFuture<Response> late = client.callAsync(to("text.later"));
        hold.countDown();
        try (Response response = running.get(30, TimeUnit.SECONDS)) {
            assertThat(response.value()).isEqualTo(Value.of("held"));
        }
        assertThat(failureOf(late)).isEqualTo(ErrorCode.WORKER_LOST);
        Waits.until("close returns", () -> !closing.isAlive());
        assertThat(later).hasValue(0);
    }

    @Test
    void handlersMayCallWhileItDrains() throws Exception {
        HandlerRegistry ofClient = workers.registry();
        workers.handle(ofClient, "text.echo", (message, outbox) -> outbox.respond(Value.of("from the client")));
        workers.handle(handlers, "text.nested", (message, outbox) -> {
            begun.countDown();
            awaitHold();
            try (Response response = outbox.caller().call(Request.operation("other", "text.echo"))) {
                outbox.respond(response.value());
            }
        });
        join(PATIENT);
        workers.join("other", ofClient);
        CompletableFuture<Response> running = client.callAsync(to("text.nested"));
        Waits.until("the handler runs", () -> begun.getCount() == 0);

        closeElsewhere(server);
        Waits.until("the worker waits for its handler", draining::get);
        hold.countDown();
        try (Response response = running.get(30, TimeUnit.SECONDS)) {
            assertThat(response.value()).isEqualTo(Value.of("from the client"));
        }
    }

    @Test
    void leavesAtTheDrainLimit() throws Exception {
        join(HASTY);
        CompletableFuture<Response> running = client.callAsync(to("text.held"));
        Waits.until("the handler runs", () -> begun.getCount() == 0);

        isLeft(server);
        assertThat(failureOf(running)).isEqualTo(ErrorCode.WORKER_LOST);
    }

    @Test
    void keepsMemoryMappedThatAHandlerUses() throws Exception {
        AtomicReference<Storage> used = new AtomicReference<>();
        CountDownLatch ended = new CountDownLatch(1);
        workers.handle(handlers, "text.uses", (message, outbox) -> {
            used.set(outbox.buffers().allocate(1 << 20));
            begun.countDown();
            awaitHold();
            used.get().release();
            ended.countDown();
            outbox.respond(Value.of("released"));
        });
        join(HASTY);
        Path segments = server.directory().path().resolve(WorkerDirectory.SEGMENTS);
        CompletableFuture<Response> running = client.callAsync(to("text.uses"));
        Waits.until("the handler runs", () -> begun.getCount() == 0);

        isLeft(server);
        assertThat(isMapped(segments, used.get().address()))
                .as("the handler has the address, and may write there")
                .isTrue();
        try (Stream<Path> files = Files.list(segments)) {
            assertThat(files).as("files of a worker that left").isEmpty();
        }
        long address = used.get().address();
        hold.countDown();
        Waits.until("the handler ends", () -> ended.getCount() == 0);
        assertThat(isMapped(segments, address)).as("nobody has it any more").isFalse();
        assertThat(failureOf(running)).isEqualTo(ErrorCode.WORKER_LOST);
    }

    private static boolean isMapped(Path segments, long address) throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/maps"))) {
            String[] range = line.substring(0, line.indexOf(' ')).split("-");
            boolean inside =
                    Long.parseUnsignedLong(range[0], 16) <= address && address < Long.parseUnsignedLong(range[1], 16);
            if (inside) {
                return line.contains(segments.toString());
            }
        }
        return false;
    }

    @Test
    void callsThatCopyTensorsWhileItClosesGetAnOutcome() throws Exception {
        join(PATIENT);
        close(client);
        assertThatThrownBy(() -> client.buffers().allocate(1 << 20))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.CLOSED));
        assertThatThrownBy(() -> client.call(to("text.echo")))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.CLOSED));
    }

    // ---- steps that fail

    @Test
    void attemptsEveryStepWhenOneFails() throws Exception {
        AtomicBoolean fails = new AtomicBoolean();
        Threads real = Host.real().threads();
        Threads failing = new Threads() {
            @Override
            public Thread start(String name, Runnable body) {
                return real.start(name, body);
            }

            @Override
            public void pause(long ns) {
                if (fails.get() && isOn("RequestDrain")) {
                    throw new OutOfMemoryError("made by the test");
                }
                real.pause(ns);
            }
        };
        server = workers.join("server", handlers, PATIENT, failing);
        client = workers.join("client", workers.registry());
        CompletableFuture<Response> running = client.callAsync(to("text.held"));
        Waits.until("the handler runs", () -> begun.getCount() == 0);
        fails.set(true);

        assertThatThrownBy(server::close).isInstanceOf(OutOfMemoryError.class).hasMessage("made by the test");
        fails.set(false);
        assertThat(failureOf(running)).isEqualTo(ErrorCode.WORKER_LOST);
        isLeft(server);
    }

    @Test
    void saysThatItsRecordCouldNotBeWrittenAndGivesTheNameBack() throws Exception {
        join(PATIENT);
        Path record = client.directory().path().resolve("worker.json");
        Files.delete(record);
        Files.createDirectory(record);
        Files.createFile(record.resolve("in the way"));

        assertThatThrownBy(client::close).isInstanceOf(IOException.class);
        Files.delete(record.resolve("in the way"));
        Files.delete(record);
        workers.join("client", workers.registry());
    }

    /** Whichever thread it is that the host does not give. */
    @Test
    void givesTheNameBackWhenTheHostGivesNoThread() throws Exception {
        WorkerSettings everything = Workers.SETTINGS.toBuilder()
                .journal(Workers.SETTINGS.journal().withDurability(Durability.INTERVAL))
                .build();
        int refused = 0;
        boolean joined = false;
        for (int last = 0; !joined; last++) {
            AtomicInteger left = new AtomicInteger(last);
            List<Thread> started = new ArrayList<>();
            Threads few = (name, body) -> {
                if (left.getAndDecrement() == 0) {
                    throw new OutOfMemoryError("unable to create native thread: made by the test");
                }
                Thread thread = Host.real().threads().start(name, body);
                started.add(thread);
                return thread;
            };
            try {
                workers.join("server", handlers, everything, few).close();
                joined = true;
            } catch (HomeException e) {
                refused++;
                assertThat(e)
                        .hasMessageStartingWith("worker server can't join: no thread for server-")
                        .hasMessageContaining("made by the test");
                started.forEach(thread -> Waits.until(thread + " ends", () -> !thread.isAlive()));
            }
        }
        assertThat(refused).as("threads that a worker starts when it joins").isGreaterThanOrEqualTo(4);
    }
}
