package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.kept.KeptValues;
import io.waybill.rref.Keeping;
import io.waybill.rref.RRefSettings;
import io.waybill.rref.control.ControlRetries;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Values that are kept, and an owner that leaves while others have references to them, and joins again. */
@Timeout(300)
class KeptReferencesTest {

    private static final Duration SOON = Duration.ofSeconds(20);
    private static final int BYTES = 8 * (256 * 256 + 8);
    /** For a value whose users do not return. */
    private static final Duration SHORT_GRACE = Duration.ofMillis(500);
    /** Within which the user asks for its fork again, also on a busy machine. */
    private static final Duration GRACE = Duration.ofSeconds(4);

    @TempDir
    private Path directory;

    private final ConcurrentLinkedQueue<RRef> taken = new ConcurrentLinkedQueue<>();
    private Workers workers;
    private Worker user;
    private Worker owner;

    @BeforeEach
    void join() throws IOException {
        workers = new Workers(directory);
        user = workers.join("user", handlers(), Workers.SETTINGS);
    }

    @AfterEach
    void leave() throws IOException {
        workers.close();
    }

    private void joinOwner(Keeping keeping) throws IOException {
        owner = joinOwner(handlers(), keeping, GRACE);
    }

    private Worker joinOwner(HandlerRegistry handlers, Keeping keeping, Duration grace) throws IOException {
        RRefSettings references = new RRefSettings(
                grace, Duration.ofSeconds(30), Duration.ofMinutes(2), ControlRetries.DEFAULTS, keeping);
        return workers.join(
                "owner",
                handlers,
                Workers.SETTINGS.toBuilder().references(references).build());
    }

    private HandlerRegistry handlers() {
        HandlerRegistry handlers = workers.registry();
        workers.handle(handlers, "SCRIPT_CALL", (message, outbox) -> {
            Invocation call = message.invocation();
            outbox.respond(run(call.name(), call.positional()));
        });
        return handlers;
    }

    private Value run(String name, List<Value> arguments) throws RejectedMessageException {
        switch (name) {
            case "test::add":
                return Value.of(number(arguments.get(0)) + number(arguments.get(1)));
            case "test::copy":
                Tensor tensor = ((Value.OfTensor) arguments.get(0)).value();
                tensor.storage().retain();
                return Value.of(tensor);
            case "test::take":
                taken.add(((Value.OfRRef) arguments.get(0)).value().retain());
                return Value.NONE;
            default:
                throw new RejectedMessageException(ErrorCode.REFUSED, "no function " + name);
        }
    }

    private static long number(Value value) {
        return ((Value.Int) value).value();
    }

    private RRef remote(String function, Value... arguments) {
        return user.rpc().remote("owner", new Invocation(function, List.of(arguments), Map.of()));
    }

    private RRef sum(long left, long right) {
        RRef sum = remote("test::add", Value.of(left), Value.of(right));
        assertHolds(sum, left + right);
        awaitConfirmed(sum);
        return sum;
    }

    /** A value may be fetched before its owner has confirmed it, and an owner that leaves in between never does. */
    private static void awaitConfirmed(RRef reference) {
        Waits.until("its owner has responded", reference::confirmedByOwner);
    }

    private static void assertHolds(RRef reference, long expected) {
        try (Response fetched = reference.toHere(SOON)) {
            assertThat(fetched.value()).isEqualTo(Value.of(expected));
        }
    }

    /** While the owner is away, a fetch fails; this waits for one that doesn't, or fails for good. */
    private static Response fetchAgain(RRef reference) {
        List<Response> fetched = new ArrayList<>();
        Waits.until("the owner is there again", () -> {
            try {
                fetched.add(reference.toHere(SOON));
                return true;
            } catch (CallException e) {
                if (e.code() != ErrorCode.WORKER_LOST) {
                    throw e;
                }
                return false;
            }
        });
        return fetched.get(0);
    }

    private List<Path> files() {
        Path kept = owner.directory().path().resolve(KeptValues.DIRECTORY);
        if (!Files.exists(kept)) {
            return List.of();
        }
        try (Stream<Path> found = Files.list(kept)) {
            return found.sorted().toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void assertNothingLeft(Worker worker) {
        Waits.until(
                worker.info().name() + " has no references left",
                () -> worker.rpc().debugInfo().values().stream().allMatch("0"::equals));
    }

    private void assertNothingLeft() {
        assertNothingLeft(user);
        assertNothingLeft(owner);
        Waits.until("no file is left", () -> files().isEmpty());
    }

    @Test
    void areThereAgainWithTheirOwner() throws IOException {
        joinOwner(Keeping.ALL);
        Storage storage = user.buffers().allocate(BYTES);
        Tensor tensor = new Tensor(DType.INT64, new long[] {256, 256}, new long[] {1, 256}, 3, true, storage);
        storage.bytes(0, BYTES).asLongBuffer().put(3, 42).put(4, 43);
        try (RRef sum = sum(2, 3);
                RRef large = remote("test::copy", Value.of(tensor))) {
            large.toHere(SOON).close();
            awaitConfirmed(large);
            assertThat(files()).hasSize(2);

            owner.close();
            joinOwner(Keeping.ALL);

            try (Response fetched = fetchAgain(large)) {
                Tensor back = fetched.tensors().get(0);
                assertThat(back.toString()).isEqualTo(tensor.toString());
                assertThat(back.requiresGrad()).isTrue();
                assertThat(back.storage().bytes(0, BYTES)).isEqualTo(storage.bytes(0, BYTES));
            }
            assertHolds(sum, 5);
            assertThat(listedOfOwner()).isNotEmpty().allMatch(line -> line.equals("kept"));
        } finally {
            storage.release();
        }
        assertNothingLeft();
    }

    /** The lines of the owner's list of references. */
    private List<String> listedOfOwner() {
        Invocation list = new Invocation("rrefs.list", List.of(), Map.of("limit", Value.of(100)));
        Request request = Request.invocation("owner", MessageType.CONTROL_CALL, list);
        try (Response listed = user.call(request.timeout(SOON))) {
            Value references = ((Value.Dict) listed.value()).entries().get(Value.of("references"));
            return ((Value.Items) references)
                    .values().stream().map(KeptReferencesTest::line).toList();
        }
    }

    private static String line(Value reference) {
        Value kept = ((Value.Dict) reference).entries().get(Value.of("kept"));
        return kept.equals(Value.of(true)) ? "kept" : "not kept";
    }

    @Test
    void areLostWithTheirOwnerWhenTheyWereNotKept() throws IOException {
        joinOwner(Keeping.ON_REQUEST);
        try (RRef sum = sum(2, 3)) {
            assertThat(files()).isEmpty();
            owner.close();
            joinOwner(Keeping.ON_REQUEST);
            CallException lost = catchThrowableOfType(
                    CallException.class, () -> fetchAgain(sum).close());
            assertThat(lost.code()).isEqualTo(ErrorCode.OWNER_LOST);
            assertThat(lost).hasMessageContaining("and its value is not kept");
        }
        assertNothingLeft();
    }

    @Test
    void areKeptOneByOneWhenTheProgramAsksForIt() throws IOException {
        joinOwner(Keeping.ON_REQUEST);
        RRef own = owner.rpc().rref(Value.of("important"));
        own.keep();
        own.keep();
        assertThat(files()).hasSize(1);
        Invocation take = new Invocation("test::take", List.of(Value.of(own)), Map.of());
        owner.rpc().rpcSync("user", take).close();
        own.close();
        try (RRef forked = taken.remove()) {
            assertThatThrownBy(forked::keep)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("can't call keep() on user");
            owner.close();
            joinOwner(Keeping.ON_REQUEST);
            try (Response fetched = fetchAgain(forked)) {
                assertThat(fetched.value()).isEqualTo(Value.of("important"));
            }
        }
        assertNothingLeft();
    }

    @Test
    void goWithTheLastHandleAndWithAnOwnerThatNoPeerAsksFor() throws IOException {
        joinOwner(Keeping.ALL);
        RRef first = owner.rpc().rref(Value.of(1));
        RRef second = owner.rpc().rref(Value.of(2));
        assertThat(files()).hasSize(2);
        first.close();
        Waits.until("its file is gone", () -> files().size() == 1);
        owner.close(); // with a handle of the second, which nobody else can reach
        assertThat(files()).isEmpty();
        assertThatThrownBy(second::toHere).isInstanceOf(CallException.class);
    }

    @Test
    void goAfterTheGracePeriodWhenUnclaimed() throws IOException {
        joinOwner(Keeping.ALL);
        RRef sum = sum(2, 3);
        owner.close();
        assertThat(files()).hasSize(1);
        sum.close(); // says nothing: its owner is away
        user.close();
        owner = joinOwner(handlers(), Keeping.ALL, SHORT_GRACE);
        assertThat(owner.rpc().debugInfo()).containsEntry("num_owner_rrefs", "1");
        Waits.until("no file is left", () -> files().isEmpty());
        assertNothingLeft(owner);
    }

    @Test
    void costOnlyThemselvesWhenTheirFileIsDamaged() throws IOException {
        joinOwner(Keeping.ALL);
        try (RRef damaged = sum(2, 3);
                RRef whole = sum(4, 5)) {
            owner.close();
            Path file = files().get(0);
            byte[] content = Files.readAllBytes(file);
            content[content.length - 1] ^= 1;
            Files.write(file, content);
            joinOwner(Keeping.ALL);

            CallException lost = catchThrowableOfType(
                    CallException.class, () -> fetchAgain(damaged).close());
            assertThat(lost.code()).isEqualTo(ErrorCode.OWNER_LOST);
            assertThat(lost)
                    .hasMessageContaining(file + " is damaged: its head has the checksum ")
                    .hasMessageContaining("it is " + file + ".damaged now");
            assertHolds(whole, 9);
        }
        assertNothingLeft(user);
        assertNothingLeft(owner);
        Waits.until("only what was set aside is left", () -> files().size() == 1);
        assertThat(files().get(0)).hasExtension("damaged");
    }

    @Test
    void areNotMadeWhenTheyCannotBeKept() throws IOException {
        joinOwner(Keeping.ALL);
        Path inTheWay = Files.createFile(owner.directory().path().resolve(KeptValues.DIRECTORY));
        try (RRef refused = remote("test::add", Value.of(2), Value.of(3))) {
            CallException why = catchThrowableOfType(
                    CallException.class, () -> refused.toHere(SOON).close());
            assertThat(why.code()).isEqualTo(ErrorCode.NOT_KEPT);
            assertThat(why).hasMessageContaining("can't be kept: ").hasMessageContaining(inTheWay.toString());
        }
        CallException own = catchThrowableOfType(
                CallException.class, () -> owner.rpc().rref(Value.of(1)).close());
        assertThat(own.code()).isEqualTo(ErrorCode.NOT_KEPT);
        assertNothingLeft(user);
        assertNothingLeft(owner);
    }

    @Test
    void leaveOutThoseThatHoldReferences() throws IOException {
        joinOwner(Keeping.ALL);
        try (RRef inner = owner.rpc().rref(Value.of(1));
                RRef outer = owner.rpc().rref(new Value.Items(List.of(Value.of(inner))))) {
            assertThat(outer.isOwner()).isTrue();
            assertThat(files()).hasSize(1);
        }
        assertNothingLeft();
    }

    /** A handler that does not block runs on the poller, which must not wait for the disk. */
    @Test
    void areKeptInTheBackgroundForHandlersOnThePoller() throws IOException {
        HandlerRegistry handlers = workers.registry();
        workers.handleOnPoller(handlers, "SCRIPT_CALL", (message, outbox) -> outbox.respond(Value.of(7)));
        owner = joinOwner(handlers, Keeping.ALL, GRACE);
        try (RRef seven = remote("test::seven")) {
            assertHolds(seven, 7); // the value is there once its file is
            assertThat(files()).hasSize(1);
        }
        assertNothingLeft();
    }
}
