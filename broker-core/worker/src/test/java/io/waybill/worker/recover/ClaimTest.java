package io.waybill.worker.recover;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.handler.LateResponse;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.home.cursor.CursorSlot;
import io.waybill.home.cursor.StoredCursor;
import io.waybill.home.cursor.StoredCursors;
import io.waybill.host.ForwardingClock;
import io.waybill.host.Host;
import io.waybill.host.Threads;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.format.QueueStructure;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a caller that joined again learns of the calls of its incarnation before. */
@Timeout(180)
class ClaimTest {

    private static final Duration LONG = Duration.ofSeconds(20);
    private static final Duration SHORT = Duration.ofMillis(100);

    @TempDir
    private Path directory;

    private Workers workers;
    private Worker callee;
    private final AtomicReference<LateResponse> late = new AtomicReference<>();

    @BeforeEach
    void open() throws IOException {
        workers = new Workers(directory);
        callee = workers.join("callee", handlers());
    }

    @AfterEach
    void close() throws IOException {
        workers.close();
    }

    /** Makes a call in one incarnation of a worker, and ends that incarnation before there is a response. */
    private long askAndLeave() throws Exception {
        Worker first = workers.join("caller");
        long id = first.call(Request.operation("callee", "say.late"), new Heard());
        Waits.until("begun", () -> late.get() != null);
        first.close();
        return id;
    }

    private void response() {
        late.get().body().text("said", "hello");
        late.get().send();
    }

    private static void assertCode(ErrorCode code, ThrowingCallable claiming) {
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(claiming)
                .satisfies(e -> assertThat(e.code()).as(e.getMessage()).isEqualTo(code));
    }

    @Test
    void isAResponseThatIsOnRecord() throws Exception {
        long id = askAndLeave();
        response();
        Worker again = workers.join("caller");
        assertThat(again.unanswered(10)).containsExactly(id);
        for (int times = 0; times < 2; times++) {
            try (Response response = again.claim(id, LONG)) {
                assertThat(response.id()).isEqualTo(id);
                assertThat(response.text("said")).isEqualTo("hello");
            }
        }
    }

    /** A listener that loses its permit, for it takes too long on a busy machine, has heard its response: another call shows it. */
    @Test
    void isPossibleUntilTheListenerReturned() throws Exception {
        Worker caller = workers.join("caller");
        long behind = positionBehind(caller, 0, new CompletableFuture<>());
        List<Long> inListeners = new ArrayList<>();
        List<Long> before = new ArrayList<>();
        for (int call = 0; call < 20; call++) {
            CompletableFuture<Long> inListener = new CompletableFuture<>();
            before.add(behind);
            behind = positionBehind(caller, behind, inListener);
            inListeners.add(inListener.get());
            if (inListeners.get(call).equals(before.get(call))) {
                return;
            }
        }
        throw new AssertionError("positions in the callee's responses while a listener ran: " + inListeners
                + "; before each response: " + before);
    }

    /** Calls, and returns the position that the caller writes behind the response. */
    private long positionBehind(Worker caller, long before, CompletableFuture<Long> inListener) throws Exception {
        CompletableFuture<Void> heard = new CompletableFuture<>();
        caller.call(Request.operation("callee", "say.late"), new ResponseListener() {
            @Override
            public void onResponse(Response response) {
                try {
                    inListener.complete(responsesPosition(caller));
                } catch (IOException e) {
                    inListener.completeExceptionally(e);
                }
                heard.complete(null);
            }

            @Override
            public void onFailure(CallException failure) {
                heard.completeExceptionally(failure);
            }
        });
        Waits.until("begun", () -> late.get() != null);
        response();
        late.set(null);
        heard.get();
        Waits.until("a position behind " + before, () -> responsesPosition(caller) > before);
        return responsesPosition(caller);
    }

    private long responsesPosition(Worker caller) throws IOException {
        return StoredCursors.read(
                        directory.resolve("home/workers/" + caller.info().id() + "-caller"),
                        caller.info(),
                        Host.real().files(),
                        problem -> {})
                .slots()
                .stream()
                .filter(slot -> slot.peerId() == callee.info().id())
                .mapToLong(StoredCursor::responsesIndex)
                .findFirst()
                .orElse(0);
    }

    @Test
    void waitsForAResponseThatIsStillToCome() throws Exception {
        long id = askAndLeave();
        Worker again = workers.join("caller");
        assertThat(again.unanswered(10)).containsExactly(id);
        assertCode(ErrorCode.TIMED_OUT, () -> again.claim(id, SHORT));
        CompletableFuture<Response> claim = again.claimAsync(id, LONG);
        CompletableFuture<Response> another = again.claimAsync(id, LONG);
        response();
        try (Response response = claim.join();
                Response same = another.join()) {
            assertThat(response.text("said")).isEqualTo("hello");
            assertThat(same.text("said")).isEqualTo("hello");
        }
    }

    /** As after a crash: the positions in the cursors are before a request that the worker sent to itself. */
    @Test
    void isTheLossOfARequestToItselfThatWasNotRead() throws Exception {
        Worker first = workers.join("caller", handlers());
        assertCode(ErrorCode.REFUSED, () -> first.call(Request.operation("caller", "say.no")));
        Path cursors = StoredCursors.file(first.directory().path());
        byte[] before = Files.readAllBytes(cursors);
        long id = first.call(Request.operation("caller", "say.late"), new Heard());
        Waits.until("begun", () -> late.get() != null);
        first.close();
        Files.write(cursors, before);

        Worker again = workers.join("caller", handlers());
        CursorSlot toItself = again.directory().cursors().slot(again.info().id());
        long unread = toItself.requestsIndex();
        Waits.until("the tail over its own requests moved", () -> {
            assertCode(ErrorCode.REFUSED, () -> again.call(Request.operation("callee", "say.no")));
            return toItself.requestsIndex() > unread;
        });
        assertCode(ErrorCode.WORKER_LOST, () -> again.claim(id, LONG));
        assertThat(Workers.linkTo(again, "caller").isQuiet())
                .as("of what this incarnation sent to itself, all is read")
                .isTrue();
    }

    private HandlerRegistry handlers() {
        HandlerRegistry registry = workers.registry();
        workers.handle(registry, "say.late", (message, outbox) -> late.set(outbox.later()));
        workers.handle(registry, "say.no", (message, outbox) -> {
            throw new RejectedMessageException(ErrorCode.REFUSED, "no");
        });
        return registry;
    }

    @Test
    void isTheErrorThatIsOnRecord() throws Exception {
        Worker first = workers.join("caller");
        Heard outcome = new Heard();
        long id = first.call(Request.operation("callee", "say.no"), outcome);
        Waits.until("refused", () -> outcome.failure.get() != null);
        first.close();
        Worker again = workers.join("caller");
        assertThat(again.unanswered(10)).as("its outcome was heard").isEmpty();
        assertCode(ErrorCode.REFUSED, () -> again.claim(id, LONG));
    }

    @Test
    void endsWhenItsReceiverIsGone() throws Exception {
        long id = askAndLeave();
        Worker again = workers.join("caller");
        CompletableFuture<Response> claim = again.claimAsync(id, LONG);
        callee.close();
        assertCode(
                ErrorCode.WORKER_LOST,
                () -> EarlierCalls.await(claim, id, Host.real().threads()));
        assertCode(ErrorCode.WORKER_LOST, () -> again.claim(id, LONG));
    }

    @Test
    void isRefusedForACallThatWasNotMade() throws Exception {
        long id = askAndLeave();
        Worker again = workers.join("caller");
        assertCode(ErrorCode.UNKNOWN_CALL, () -> again.claim(id + 1, LONG));
        assertCode(
                ErrorCode.UNKNOWN_CALL,
                () -> again.claim(MessageId.of(callee.info().id(), 0), LONG));
    }

    private FileChannel calleesTable() throws IOException {
        Path queue = JournalQueue.RESPONSES.in(callee.directory().path());
        return FileChannel.open(queue.resolve(QueueStructure.TABLE), StandardOpenOption.WRITE);
    }

    @Test
    void waitsUntilTheReceiversResponsesCanBeOpened() throws Exception {
        long id = askAndLeave();
        response();
        Worker again = workers.join("caller");
        assertThat(again.unanswered(10)).containsExactly(id);
        CompletableFuture<Response> claim;
        CompletableFuture<Response> another;
        try (FileChannel table = calleesTable()) {
            FileLock starting = table.lock(); // as the writer holds it while it opens its queue
            claim = again.claimAsync(id, LONG);
            another = again.claimAsync(id, LONG);
            CompletableFuture<?> any = CompletableFuture.anyOf(claim, another);
            assertThatThrownBy(() -> any.get(500, TimeUnit.MILLISECONDS))
                    .as("a claim while the receiver starts")
                    .isInstanceOf(TimeoutException.class);
            starting.release();
        }
        try (Response response = claim.join();
                Response same = another.join()) {
            assertThat(response.text("said")).isEqualTo("hello");
            assertThat(same.text("said")).isEqualTo("hello");
        }
    }

    @Test
    void failsWhenTheReceiversResponsesStayUnreadable() throws Exception {
        long id = askAndLeave();
        response();
        Worker again = workers.join("caller");
        assertThat(again.unanswered(10)).containsExactly(id);
        try (FileChannel table = calleesTable();
                FileLock held = table.lock()) {
            assertThat(held.isValid()).isTrue();
            assertCode(ErrorCode.TIMED_OUT, () -> again.claim(id, SHORT));
            assertCode(ErrorCode.PEER_CORRUPT, () -> again.claim(id, Duration.ZERO));
        }
        try (Response response = again.claim(id, LONG)) {
            assertThat(response.text("said")).isEqualTo("hello");
        }
    }

    @Test
    void endsWithTheWorkerThatClaims() throws Exception {
        long id = askAndLeave();
        Worker again = workers.join("caller");
        CompletableFuture<Response> claim = again.claimAsync(id, Duration.ZERO);
        again.close();
        assertCode(
                ErrorCode.CLOSED,
                () -> EarlierCalls.await(claim, id, Host.real().threads()));
        assertCode(
                ErrorCode.CLOSED,
                () -> EarlierCalls.await(
                        again.claimAsync(id, LONG), id, Host.real().threads()));
    }

    /** What a listener heard. */
    private static final class Heard implements ResponseListener {
        private final AtomicReference<CallException> failure = new AtomicReference<>();

        @Override
        public void onResponse(Response response) {
            // only failures are looked for
        }

        @Override
        public void onFailure(CallException heard) {
            failure.set(heard);
        }
    }

    /** Threads of which some don't come. */
    private static final class FailingThreads implements Threads {
        private final Threads real = Host.real().threads();
        private final AtomicInteger refused = new AtomicInteger();

        @Override
        public Thread start(String name, Runnable body) {
            if (name.endsWith("-claims") && refused.getAndDecrement() > 0) {
                throw new OutOfMemoryError("no thread: made by the test");
            }
            return real.start(name, body);
        }
    }

    /** Fails a search for claims when it asks for the time. */
    private static final class FailingClock extends ForwardingClock {
        private final AtomicInteger failing = new AtomicInteger();

        FailingClock() {
            super(Host.real().clock());
        }

        @Override
        public long monotonicNs() {
            if (failing.get() > 0 && isInSearch() && failing.getAndDecrement() > 0) {
                throw new InternalError("a fault: made by the test");
            }
            return super.monotonicNs();
        }

        private static boolean isInSearch() {
            return Stream.of(Thread.currentThread().getStackTrace())
                    .anyMatch(frame -> frame.getClassName().startsWith(EarlierCalls.class.getName() + "$"));
        }
    }

    @Test
    void getsAnOutcomeWhenItsThreadFailsAndTheNextOneIsSearchedFor() throws Exception {
        long id = askAndLeave();
        FailingThreads threads = new FailingThreads();
        FailingClock clock = new FailingClock();
        Workers failing = new Workers(directory, workers.host.withClock(clock));
        Worker again = failing.join("caller", failing.registry(), Workers.SETTINGS, threads);

        threads.refused.set(1);
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> again.claim(id, LONG))
                .withMessageContaining("no thread for caller-claims")
                .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.BACK_PRESSURE));
        clock.failing.set(1);
        CompletableFuture<Response> failed = again.claimAsync(id, Duration.ZERO);
        assertThatExceptionOfType(ExecutionException.class)
                .isThrownBy(() -> failed.get(30, TimeUnit.SECONDS))
                .withMessageContaining("made by the test");

        response();
        try (Response response = again.claimAsync(id, LONG).get(30, TimeUnit.SECONDS)) {
            assertThat(response.text("said")).isEqualTo("hello");
        }
        failing.close();
    }
}
