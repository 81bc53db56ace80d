package io.waybill.worker.call;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.home.Membership;
import io.waybill.home.Peer;
import io.waybill.home.WorkerRecord;
import io.waybill.injection.InjectionSettings;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.Poll;
import io.waybill.testing.core.Waits;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Faults that real workers of one process make on purpose. */
@Timeout(300)
class InjectionTest {

    private static final Duration SOON = Duration.ofSeconds(20);
    private static final Duration LONG = Duration.ofSeconds(2);
    private static final Duration SHORT = Duration.ofMillis(100);
    private static final MessageType[] CONTROL = {
        MessageType.RREF_FORK_REQUEST, MessageType.RREF_CHILD_ACCEPT, MessageType.RREF_USER_DELETE
    };

    @TempDir
    private Path directory;

    private Workers workers;
    private final List<Worker> all = new ArrayList<>();
    private final ConcurrentLinkedQueue<Long> begun = new ConcurrentLinkedQueue<>();
    private final ConcurrentLinkedQueue<RRef> kept = new ConcurrentLinkedQueue<>();

    @BeforeEach
    void open() throws IOException {
        workers = new Workers(directory);
    }

    @AfterEach
    void close() throws IOException {
        kept.forEach(RRef::close);
        workers.close();
    }

    private Worker join(String name, InjectionSettings injection) throws IOException {
        return join(name, Workers.SETTINGS.toBuilder().injection(injection).build());
    }

    private Worker join(String name, WorkerSettings settings) throws IOException {
        HandlerRegistry handlers = workers.registry();
        workers.handle(handlers, "SCRIPT_CALL", (message, outbox) -> {
            List<Value> arguments = message.invocation().positional();
            switch (message.invocation().name()) {
                case "test::keep" ->
                    kept.add(((Value.OfRRef) arguments.get(0)).value().retain());
                case "test::begin" -> begun.add(((Value.Int) arguments.get(0)).value());
                default -> {}
            }
            outbox.respond(
                    arguments.isEmpty() || arguments.get(0) instanceof Value.OfRRef ? Value.NONE : arguments.get(0));
        });
        Worker joined = workers.join(name, handlers, settings);
        all.add(joined);
        for (Worker from : all) {
            for (Worker to : all) {
                Waits.until("all are linked", () -> echo(from, to.info().name()));
            }
        }
        return joined;
    }

    /** By an operation's name, which no test injects a fault in. */
    private static boolean echo(Worker from, String to) {
        try {
            from.call(Request.operation(to, "nobody.knows"));
            return false;
        } catch (CallException e) {
            return e.code() == ErrorCode.UNKNOWN_OPERATION;
        }
    }

    private static Invocation call(String name, Value... arguments) {
        return new Invocation(name, List.of(arguments), Map.of());
    }

    private static Invocation begin(long number) {
        return call("test::begin", Value.of(number));
    }

    private static void assertHolds(RRef reference, long expected) {
        try (Response fetched = reference.toHere(SOON)) {
            assertThat(fetched.value()).isEqualTo(Value.of(expected));
        }
    }

    private void assertAllGone() {
        for (Worker worker : all) {
            Waits.until(
                    worker.info().name() + " has no references left",
                    () -> worker.rpc().debugInfo().values().stream().allMatch("0"::equals));
        }
    }

    @Test
    void failsTheFirstAttemptsAtOnceAndSendsTheNext() throws Exception {
        Worker a = join(
                "a", InjectionSettings.NONE.withFail(MessageType.SCRIPT_CALL).withTimes(2));
        Worker b = join("b", InjectionSettings.NONE);

        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> a.rpc().rpcSync("b", begin(1)))
                .withMessage("RPCErr:2:Send attempt failed intentionally for SCRIPT_CALL to worker b (id 1)")
                .matches(e -> e.kind() == ErrorKind.INTENTIONAL_FAILURE)
                .matches(e -> e.code() == ErrorCode.INTENTIONAL_FAILURE);
        CompletableFuture<Response> second = a.rpc().rpcAsync("b", begin(1));
        assertThat(second).isCompletedExceptionally();
        assertThatThrownBy(second::get).isInstanceOf(ExecutionException.class).hasCauseInstanceOf(CallException.class);
        assertThat(a.pendingCalls()).isZero();
        a.rpc().rpcSync("b", begin(1)).close();
        b.rpc().rpcSync("a", begin(2)).close();

        assertThat(begun).containsExactly(1L, 2L);
    }

    @Test
    void keepsNothingOfWhatFailed() throws Exception {
        Worker a = join("a", InjectionSettings.NONE.withFail(MessageType.SCRIPT_CALL));
        join("b", InjectionSettings.NONE);
        RRef reference = a.rpc().rref(Value.of(7));
        Storage storage = a.buffers().allocate(1 << 20);
        Value tensor = Value.of(Tensor.contiguous(DType.UINT8, new long[] {1 << 20}, storage));

        assertThatThrownBy(() -> a.rpc().rpcSync("b", call("test::keep", Value.of(reference), tensor)))
                .isInstanceOf(CallException.class);

        storage.release();
        reference.close();
        assertThat(kept).isEmpty();
        assertAllGone();
    }

    @Test
    void letsOthersOvertakeWhatIsDelayed() throws Exception {
        Worker a = join("a", InjectionSettings.NONE.withDelay(MessageType.SCRIPT_CALL, LONG));
        Worker b = join("b", InjectionSettings.NONE);
        CompletableFuture<Response> late = a.rpc().rpcAsync("b", begin(1));

        try (RRef reference = a.rpc().remote("b", begin(2))) {
            assertHolds(reference, 2);
        }
        late.get().close();

        assertThat(begun).containsExactly(2L, 1L);
        assertThat(a.pendingCalls()).isZero();
        assertThat(idsOfRequests(a)).isSorted();
        assertThat(b.counters().requestsExpired()).isZero();
    }

    private static List<Long> idsOfRequests(Worker worker) {
        List<Long> ids = new ArrayList<>();
        MessageBuffer buffer = new MessageBuffer();
        RecordView view = new RecordView(buffer);
        Path queue = JournalQueue.REQUESTS.in(worker.directory().path());
        try (JournalTail tail = JournalTail.open(queue, Workers.SETTINGS.journal())) {
            while (tail.poll(buffer, JournalTail.ANY_RECEIVER) == Poll.RECORD) {
                ids.add(view.id());
            }
        }
        assertThat(ids).doesNotHaveDuplicates();
        return ids;
    }

    @Test
    void countsTheTimeForWhichARequestIsKeptBack() throws Exception {
        Worker a = join("a", InjectionSettings.NONE.withDelay(MessageType.SCRIPT_CALL, LONG));
        Worker b = join("b", InjectionSettings.NONE);
        Storage storage = a.buffers().allocate(1 << 20);
        Value tensor = Value.of(Tensor.contiguous(DType.UINT8, new long[] {1 << 20}, storage));
        RRef reference = a.rpc().rref(Value.of(7));

        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> a.rpc().rpcSync("b", call("test::keep", Value.of(reference), tensor), SHORT))
                .matches(e -> e.kind() == ErrorKind.TIMEOUT)
                .withMessageContaining("RPC ran for more than set timeout (100 ms)");

        storage.release();
        reference.close();
        Waits.until("it came too late", () -> b.counters().requestsExpired() == 1);
        Waits.until("no caller waits for the response", () -> a.counters().lateResponses() == 1);
        assertThat(kept).isEmpty();
        assertAllGone();
    }

    @Test
    void losesARequestWithoutAWord() throws Exception {
        Worker a = join("a", InjectionSettings.NONE.withDrop(MessageType.SCRIPT_CALL));
        Worker b = join("b", InjectionSettings.NONE);
        RRef reference = a.rpc().rref(Value.of(7));

        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> a.rpc().rpcSync("b", call("test::keep", Value.of(reference)), SHORT))
                .matches(e -> e.kind() == ErrorKind.TIMEOUT);
        Waits.until("no caller waits for the response", () -> a.counters().lateResponses() == 1);

        assertThat(kept).isEmpty();
        reference.close();
        assertAllGone();
        assertThat(b.counters().requestsExpired()).isEqualTo(1);
    }

    @Test
    void losesWhatIsKeptBackForAWorkerThatLeaves() throws Exception {
        Worker a = join("a", InjectionSettings.NONE.withDelay(MessageType.SCRIPT_CALL, LONG));
        Worker b = join("b", InjectionSettings.NONE);
        CompletableFuture<Response> late = a.rpc().rpcAsync("b", begin(1));

        b.close();
        all.remove(b);

        assertThatThrownBy(late::get).hasMessageContaining("left");
        assertThat(begun).isEmpty();
    }

    @Test
    void closesWhileRequestsAreKeptBack() throws Exception {
        Worker a = join("a", InjectionSettings.NONE.withDelay(MessageType.SCRIPT_CALL, Duration.ofHours(1)));
        join("b", InjectionSettings.NONE);
        CompletableFuture<Response> late = a.rpc().rpcAsync("b", begin(1), Duration.ZERO);

        a.close();

        assertThatThrownBy(late::get).hasMessageContaining("was closed before the response came");
    }

    /** PyTorch's tests begin with three failures; each costs a wait of a second or more. */
    @Test
    void keepsReferencesRightWhenControlMessagesFailAndAreLost() throws Exception {
        InjectionSettings injection = InjectionSettings.NONE.withFail(CONTROL).withDrop(CONTROL);
        WorkerSettings settings = Workers.SETTINGS.toBuilder()
                .injection(injection)
                .defaultTimeout(Duration.ofMillis(500))
                .build();
        passAround(join("a", settings), join("b", settings), join("c", settings));
    }

    @Test
    void keepsReferencesRightWhenControlMessagesComeTwiceAndInAnotherOrder() throws Exception {
        InjectionSettings injection =
                InjectionSettings.NONE.withDuplicate(CONTROL).withReorder(CONTROL);
        passAround(join("a", injection), join("b", injection), join("c", injection));
    }

    @Test
    void keepsReferencesRightWhenControlMessagesAreLate() throws Exception {
        InjectionSettings injection = InjectionSettings.NONE
                .withDelay(MessageType.RREF_FORK_REQUEST, Duration.ofMillis(50))
                .withDelay(MessageType.RREF_CHILD_ACCEPT, Duration.ofMillis(200))
                .withDuplicate(CONTROL);
        passAround(join("a", injection), join("b", injection), join("c", injection));
    }

    /** Values of {@code b} that {@code a} shares with {@code c}. */
    private void passAround(Worker a, Worker b, Worker c) {
        for (long i = 0; i < 4; i++) {
            try (RRef reference = a.rpc().remote("b", begin(i), SOON)) {
                a.rpc()
                        .rpcSync("c", call("test::keep", Value.of(reference)), SOON)
                        .close();
            }
        }
        assertThat(kept).hasSize(4);
        long i = 0;
        for (RRef reference : kept) {
            assertHolds(reference, i++);
            reference.close();
        }
        kept.clear();
        assertAllGone();
        assertThat(idsOfRequests(a)).isSorted();
        assertThat(idsOfRequests(c)).isSorted();
        assertThat(b.counters().damagedRecords()).isZero();
    }

    @Test
    void letsADeleteOvertakeACreation() throws Exception {
        Worker a = join("a", InjectionSettings.NONE.withDelay(MessageType.SCRIPT_REMOTE_CALL, LONG));
        join("b", InjectionSettings.NONE);

        a.rpc().remote("b", begin(1)).close();

        assertAllGone();
        Waits.until("it is responded to", () -> a.pendingCalls() == 0);
        assertAllGone();
    }

    @Test
    void failsTheReferenceWhoseCreationFailedOrWasLost() throws Exception {
        Worker failing = join("failing", InjectionSettings.NONE.withFail(MessageType.SCRIPT_REMOTE_CALL));
        Worker losing = join("losing", InjectionSettings.NONE.withDrop(MessageType.SCRIPT_REMOTE_CALL));
        for (Worker from : List.of(failing, losing)) {
            for (Worker to : List.of(failing, losing)) {
                RRef reference = from.rpc().remote(to.info().name(), begin(1), SHORT);
                Waits.until(
                        "its creation has failed",
                        () -> from.rpc().debugInfo().get("num_pending_users").equals("0"));
                assertThatThrownBy(() -> reference.toHere(SOON))
                        .as("%s to %s", from.info(), to.info())
                        .hasMessageContaining("RRef creation");
                assertThatThrownBy(() -> from.rpc().rpcSync(to.info().name(), call("test::keep", Value.of(reference))))
                        .hasMessageContaining("RRef creation");
                reference.close();
            }
        }
        assertThat(begun).isEmpty();
        assertAllGone();
    }

    @Test
    void showsWhatItInjects() throws Exception {
        Worker a = join(
                "a", InjectionSettings.NONE.withFail(MessageType.SCRIPT_CALL).withTimes(3));
        Worker b = join("b", InjectionSettings.NONE);

        assertThat(shown(a)).containsEntry(WorkerRecord.INJECTS, "fail SCRIPT_CALL 3 times");
        assertThat(shown(b)).doesNotContainKey(WorkerRecord.INJECTS);
    }

    private Map<String, String> shown(Worker worker) throws IOException {
        Membership membership = new Membership(workers.home);
        membership.refresh();
        return membership.members().all().stream()
                .filter(peer -> peer.id() == worker.info().id())
                .findFirst()
                .flatMap(Peer::record)
                .orElseThrow()
                .settings();
    }
}
