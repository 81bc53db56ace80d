package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Rpc;
import io.waybill.api.Value;
import io.waybill.api.WorkerInfo;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Remote references between real workers of one process. Where script-ops would run an operator, these add two ints. */
@Timeout(180)
class RpcTest {

    private static final Duration SOON = Duration.ofSeconds(20);

    @TempDir
    private Path directory;

    private Workers workers;
    private Worker a;
    private Worker b;
    private Worker c;
    private final CountDownLatch mayEnd = new CountDownLatch(1);
    private final ConcurrentLinkedQueue<RRef> kept = new ConcurrentLinkedQueue<>();

    @BeforeEach
    void joinThree() throws IOException {
        workers = new Workers(directory);
        a = workers.join("a", handlers());
        b = workers.join("b", handlers());
        c = workers.join("c", handlers());
        Waits.until("all are linked", () -> isLinked(a) && isLinked(b) && isLinked(c));
    }

    private boolean isLinked(Worker worker) {
        for (String name : List.of("a", "b", "c")) {
            worker.rpc()
                    .rpcSync(name, call("test::add", Value.of(1), Value.of(2)))
                    .close();
        }
        return true;
    }

    @AfterEach
    void leave() throws IOException {
        mayEnd.countDown();
        workers.close();
    }

    private HandlerRegistry handlers() {
        HandlerRegistry handlers = workers.registry();
        workers.handle(handlers, "SCRIPT_CALL", (message, outbox) -> {
            Invocation call = message.invocation();
            outbox.respond(run(call.name(), call.positional()));
        });
        workers.handle(handlers, "PYTHON_CALL", (message, outbox) -> {
            Invocation call = Invocation.decode(message.payload(), message.tensors(), message.references());
            outbox.respond(run(call.name(), call.positional()));
        });
        return handlers;
    }

    private Value run(String name, List<Value> arguments) throws RejectedMessageException {
        switch (name) {
            case "test::add":
                return Value.of(number(arguments.get(0)) + number(arguments.get(1)));
            case "test::fetch":
                try (Response fetched = reference(arguments).toHere(SOON)) {
                    return fetched.value();
                }
            case "test::type":
                return Value.of(reference(arguments).type());
            case "test::keep":
                kept.add(reference(arguments).retain());
                return Value.NONE;
            case "test::owned":
                return Value.of(reference(arguments).isOwner());
            case "test::wait":
                await();
                return Value.of(7);
            case "test::copy":
                Tensor tensor = ((Value.OfTensor) arguments.get(0)).value();
                tensor.storage().retain();
                return Value.of(tensor);
            default:
                throw new RejectedMessageException(ErrorCode.REFUSED, "no function " + name);
        }
    }

    private void await() {
        try {
            mayEnd.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static long number(Value value) {
        return ((Value.Int) value).value();
    }

    private static RRef reference(List<Value> arguments) {
        return ((Value.OfRRef) arguments.get(0)).value();
    }

    private static Invocation call(String name, Value... arguments) {
        return new Invocation(name, List.of(arguments), Map.of());
    }

    private static void assertHolds(RRef reference, long expected) {
        try (Response fetched = reference.toHere(SOON)) {
            assertThat(fetched.value()).isEqualTo(Value.of(expected));
        }
    }

    private void assertAllGone() {
        for (Worker worker : List.of(a, b, c)) {
            Waits.until(
                    worker.info().name() + " has no references left: "
                            + worker.rpc().debugInfo(),
                    () -> worker.rpc().debugInfo().values().stream().allMatch("0"::equals));
        }
    }

    @Test
    void takesNoNameForAnId() throws IOException {
        Worker three = workers.join("4", handlers()); // id 3: ranks as names, joined in another order
        Worker four = workers.join("3", handlers()); // id 4
        assertThat(List.of(three.info().id(), four.info().id())).containsExactly(3, 4);
        try (RRef sum = four.rpc().remote("4", call("test::add", Value.of(1), Value.of(2)))) {
            assertThat(sum.owner()).isEqualTo(3);
            assertHolds(sum, 3);
        }
        for (Worker worker : List.of(three, four)) {
            Waits.until(
                    worker.info() + " has no references left",
                    () -> worker.rpc().debugInfo().values().stream().allMatch("0"::equals));
        }
        assertThat(four.call(Request.invocation(
                                WorkerInfo.address(3),
                                MessageType.SCRIPT_CALL,
                                call("test::add", Value.of(2), Value.of(2))))
                        .from())
                .isEqualTo(3);
    }

    @Test
    void listsItsReferencesOnRequest() {
        try (RRef reference = a.rpc().remote("b", call("test::add", Value.of(2), Value.of(3)))) {
            assertHolds(reference, 5);
            Waits.until("a has its confirmation", reference::confirmedByOwner);

            assertThat(list("b", 10).toString()).contains("owns", "completed");
            assertThat(list("a", 10).toString()).contains("holds", "confirmed");
            assertThat(list("a", 0)).isEqualTo(new Value.Items(List.of()));
            assertThatExceptionOfType(CallException.class)
                    .isThrownBy(() -> list("a", 10_001))
                    .withMessageContaining("limit must be 0..10000");
        }
        assertAllGone();
        assertThat(list("b", 10)).isEqualTo(new Value.Items(List.of()));
    }

    private Value list(String of, long limit) {
        Invocation list = new Invocation("rrefs.list", List.of(), Map.of("limit", Value.of(limit)));
        try (Response listed = c.call(Request.invocation(of, MessageType.CONTROL_CALL, list))) {
            return listed.value("references");
        }
    }

    @Test
    void leavesAResultWithItsOwnerUntilItIsFetched() {
        try (RRef reference = a.rpc().remote("b", call("test::add", Value.of(2), Value.of(3)))) {
            assertThat(reference.owner()).isEqualTo(b.info().id());
            assertThat(reference.isOwner()).isFalse();
            assertHolds(reference, 5);
            assertHolds(reference, 5);
            Waits.until("it is confirmed", reference::confirmedByOwner);
            assertThat(b.rpc().debugInfo())
                    .containsEntry("num_owner_rrefs", "1")
                    .containsEntry("num_forks", "1");
        }
        assertAllGone();
    }

    @Test
    void createsAValueOfItsOwn() {
        try (RRef reference = a.rpc().remote("a", call("test::add", Value.of(2), Value.of(3)))) {
            assertThat(reference.isOwner()).isTrue();
            assertHolds(reference, 5);
            try (Response local = reference.localValue()) {
                assertThat(local.value()).isEqualTo(Value.of(5));
            }
        }
        assertAllGone();
    }

    @Test
    void refersToAValueThatIsHere() {
        try (RRef reference = a.rpc().rref(Value.of("here"))) {
            try (Response fetched = a.rpc().rpcSync("b", call("test::fetch", Value.of(reference)))) {
                assertThat(fetched.value()).isEqualTo(Value.of("here"));
            }
        }
        assertAllGone();
    }

    @Test
    void sharesAReferenceWithAThirdWorker() {
        RRef reference = a.rpc().remote("b", call("test::add", Value.of(2), Value.of(3)));
        try (Response fetched = a.rpc().rpcSync("c", call("test::fetch", Value.of(reference)))) {
            assertThat(fetched.value()).isEqualTo(Value.of(5));
        }
        a.rpc().rpcSync("c", call("test::keep", Value.of(reference))).close();
        reference.close();
        RRef atC = kept.remove();
        assertHolds(atC, 5);
        assertThatThrownBy(() -> reference.toHere(SOON))
                .hasMessageMatching("UserRRef\\(rref_id=.*, fork_id=.*\\) has been deleted\\. Cannot call to_here\\(\\)"
                        + " on it after deletion\\.");
        assertThatThrownBy(() -> a.rpc().rpcSync("c", call("test::keep", Value.of(reference))))
                .hasMessageEndingWith(" has been deleted. Cannot call fork an UserRRef after deletion.");
        assertThatThrownBy(atC::localValue)
                .hasMessageMatching("For UserRRef\\(rref_id=.*, fork_id=.*\\), can't call localValue\\(\\) on user"
                        + " WorkerInfo\\(id=2, name=c\\)\\. Call it on owner WorkerInfo\\(id=1, name=b\\)");
        atC.close();
        assertAllGone();
    }

    /** Of the three messages that a fork costs, the second is the response to the first; what ends the third's retries has no waiting caller. */
    @Test
    void sharesAReferenceWithTwoCallsBesideTheOneThatCarriesIt() {
        try (RRef reference = a.rpc().remote("b", call("test::add", Value.of(2), Value.of(3)))) {
            Waits.until("it is confirmed", reference::confirmedByOwner);
            long byA = a.counters().callsSent();
            long byB = b.counters().callsSent();
            long byC = c.counters().callsSent();

            a.rpc().rpcSync("c", call("test::keep", Value.of(reference))).close();

            Waits.until("a and c have nothing on its way", () -> a.pendingCalls() == 0 && c.pendingCalls() == 0);
            assertThat(a.counters().callsSent() - byA).isOne();
            assertThat(b.counters().callsSent() - byB).isZero();
            assertThat(c.counters().callsSent() - byC).isEqualTo(2);
            kept.remove().close();
        }
        assertAllGone();
    }

    @Test
    void sharesAReferenceWithItsOwner() {
        try (RRef reference = a.rpc().remote("b", call("test::add", Value.of(2), Value.of(3)));
                Response owned = a.rpc().rpcSync("b", call("test::owned", Value.of(reference)));
                Response fetched = a.rpc().rpcSync("b", call("test::fetch", Value.of(reference)))) {
            assertThat(owned.value()).isEqualTo(Value.of(true));
            assertThat(fetched.value()).isEqualTo(Value.of(5));
        }
        assertAllGone();
    }

    @Test
    void createsFromAReference() {
        try (RRef first = a.rpc().remote("b", call("test::add", Value.of(2), Value.of(3)));
                RRef second = a.rpc().remote("c", call("test::fetch", Value.of(first)))) {
            assertHolds(second, 5);
        }
        assertAllGone();
    }

    @Test
    void givesTheErrorOfTheBody() {
        try (RRef reference = a.rpc().remote("b", call("test::none"))) {
            assertThatExceptionOfType(CallException.class)
                    .isThrownBy(() -> reference.toHere(SOON))
                    .withMessage("no function test::none")
                    .matches(e -> e.code() == ErrorCode.REFUSED);
        }
        assertAllGone();
    }

    @Test
    void waitsForAValueThatIsStillBeingCreated() throws Exception {
        RRef reference = a.rpc().remote("b", call("test::wait"));
        CompletableFuture<Response> fetched = reference.toHereAsync(SOON);
        assertThat(fetched).isNotDone();
        mayEnd.countDown();
        try (Response response = fetched.get()) {
            assertThat(response.value()).isEqualTo(Value.of(7));
        }
        reference.close();
        assertAllGone();
    }

    @Test
    void leaksNothingWhenACreationTimesOut() {
        RRef reference = a.rpc().remote("b", call("test::wait"), Duration.ofMillis(50));
        assertThatThrownBy(() -> reference.toHere(Duration.ofMillis(100))).isInstanceOf(CallException.class);
        Waits.until(
                "it is known to have failed",
                () -> !a.rpc().debugInfo().get("num_pending_users").equals("1"));
        assertThatThrownBy(() -> reference.toHere(SOON))
                .hasMessageContaining("RRef creation via rpc.remote() timed out");
        reference.close();
        mayEnd.countDown();
        assertAllGone();
    }

    @Test
    void keepsTensorsOutsideOfTheBundle() {
        Storage storage = a.buffers().allocate(8 << 10);
        storage.bytes(0, 8).putLong(0, 42);
        Tensor tensor = Tensor.contiguous(DType.INT64, new long[] {1024}, storage);
        try (RRef reference = a.rpc().remote("b", call("test::copy", Value.of(tensor)))) {
            storage.release();
            try (Response fetched = reference.toHere(SOON)) {
                Tensor back = fetched.tensors().get(0);
                assertThat(back.sizes()).containsExactly(1024);
                assertThat(back.storage().bytes(0, 8).getLong(0)).isEqualTo(42);
            }
        }
        assertAllGone();
    }

    @Test
    void givesBackWhatAnUnknownHandlerWasSent() {
        RRef reference = a.rpc().remote("b", call("test::add", Value.of(2), Value.of(3)));
        Request unknown = Request.operation("c", "nobody.knows");
        unknown.body().value("reference", Value.of(reference));
        assertThatThrownBy(() -> a.call(unknown)).isInstanceOf(CallException.class);
        reference.close();
        assertAllGone();
    }

    @Test
    void refusesAReferenceThatIsNoTable() {
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> a.call(Request.invocation(
                        "b", MessageType.SCRIPT_REMOTE_CALL, call("test::add", Value.of(1), Value.of(2)))))
                .matches(e -> e.code() == ErrorCode.MALFORMED_BODY);
    }

    @Test
    void leavesResultsOfEveryTypeWithACreatingForm() throws Exception {
        Request sum = Request.invocation("b", MessageType.PYTHON_CALL, call("test::add", Value.of(2), Value.of(3)));
        try (RRef reference = a.rpc().remote(sum, "Sum");
                Response fetched = reference.toHere(SOON)) {
            reference.confirmation().get(120, TimeUnit.SECONDS);
            assertThat(reference.confirmedByOwner()).isTrue();
            assertThat(fetched.value()).isEqualTo(Value.of(5));
            Invocation ask = call("test::type", Value.of(reference));
            try (Response type = a.rpc().rpcSync("c", ask)) {
                assertThat(type.value()).isEqualTo(Value.of("Sum"));
            }
        }
        Request waiting = Request.invocation("b", MessageType.PYTHON_CALL, call("test::wait"))
                .timeout(Duration.ofMillis(50));
        try (RRef late = a.rpc().remote(waiting, "Sum")) {
            assertThatThrownBy(() -> late.confirmation().get(120, TimeUnit.SECONDS))
                    .cause()
                    .isInstanceOfSatisfying(
                            CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.TIMED_OUT));
        }
        for (String owner : List.of("a", "b")) {
            Request failing = Request.invocation(owner, MessageType.PYTHON_CALL, call("test::nothing"));
            try (RRef failed = a.rpc().remote(failing, "Sum")) {
                failed.confirmation().get(120, TimeUnit.SECONDS); // the owner knows of it, and has the error
                assertThatThrownBy(() -> failed.toHere(SOON)).hasMessageContaining("test::nothing");
            }
        }
        mayEnd.countDown();
        assertThatThrownBy(() -> a.rpc().remote(Request.operation("b", "any.thing"), "Sum"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("NAMED_CALL");
        assertAllGone();
    }

    @Test
    void releasesTheReferencesOfAWorkerThatLeaves() throws IOException {
        Rpc owner = b.rpc();
        a.rpc().remote("b", call("test::add", Value.of(2), Value.of(3)));
        Waits.until("b owns it", () -> owner.debugInfo().get("num_forks").equals("1"));
        assertThat(a.rpc().shutdown(Duration.ofSeconds(10))).isEmpty();
        Waits.until(
                "b has dropped it",
                () -> owner.debugInfo().get("num_owner_rrefs").equals("0"));
    }
}
