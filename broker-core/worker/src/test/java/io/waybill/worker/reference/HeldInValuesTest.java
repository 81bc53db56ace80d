package io.waybill.worker.reference;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.RRef;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.rref.RRefSettings;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Values of remote references that hold references, between real workers of one process. */
@Timeout(180)
class HeldInValuesTest {

    private static final Duration SOON = Duration.ofSeconds(20);

    @TempDir
    private Path directory;

    private Workers workers;
    private Worker a;
    private Worker b;
    private Worker c;

    @BeforeEach
    void joinThree() throws IOException {
        workers = new Workers(directory);
        a = join("a");
        b = join("b");
        c = join("c");
    }

    /** Responds with its arguments. No worker waits for an owner that left. */
    private Worker join(String name) throws IOException {
        HandlerRegistry handlers = workers.registry();
        workers.handle(
                handlers,
                "SCRIPT_CALL",
                (message, outbox) ->
                        outbox.respond(new Value.Items(message.invocation().positional())));
        RRefSettings defaults = RRefSettings.DEFAULTS;
        RRefSettings impatient = new RRefSettings(
                Duration.ofMillis(100), Duration.ZERO, defaults.memory(), defaults.retries(), defaults.keeping());
        return workers.join(
                name,
                handlers,
                Workers.SETTINGS.toBuilder().references(impatient).build());
    }

    @AfterEach
    void leave() throws IOException {
        workers.close();
    }

    private static Invocation items(Value... values) {
        return new Invocation("test::items", List.of(values), Map.of());
    }

    private static RRef inner(Response fetched, int index) {
        return ((Value.OfRRef) ((Value.Items) fetched.value()).values().get(index)).value();
    }

    private static void assertHolds(RRef reference, Value expected) {
        try (Response fetched = reference.toHere(SOON)) {
            assertThat(fetched.value()).isEqualTo(expected);
        }
    }

    private void assertAllGone(Worker... from) {
        for (Worker worker : from) {
            Waits.until(
                    worker.info().name() + " has no references left: "
                            + worker.rpc().debugInfo(),
                    () -> worker.rpc().debugInfo().values().stream().allMatch("0"::equals));
        }
    }

    /** A reference at {@code a} to a list at {@code b} of references: to values of a's, b's and c's. */
    private RRef listOfThree() {
        Value.Items one = new Value.Items(List.of(Value.of(1)));
        try (RRef ofA = a.rpc().rref(Value.of("a's"));
                RRef ofB = a.rpc().remote("b", items(Value.of(1)));
                RRef ofC = a.rpc().remote("c", items(Value.of(1)))) {
            RRef list = a.rpc().remote("b", items(Value.of(ofA), Value.of(ofB), Value.of(ofC)));
            try (Response fetched = list.toHere(SOON)) {
                assertHolds(inner(fetched, 1), one);
            }
            return list;
        }
    }

    @Test
    void areFetchedWithTheValue() {
        try (RRef list = listOfThree();
                Response fetched = list.toHere(SOON)) {
            assertThat(inner(fetched, 0).isOwner()).isTrue();
            assertHolds(inner(fetched, 0), Value.of("a's"));
            assertThat(inner(fetched, 1).owner()).isEqualTo(b.info().id());
            assertThat(inner(fetched, 2).owner()).isEqualTo(c.info().id());
            assertHolds(inner(fetched, 2), new Value.Items(List.of(Value.of(1))));
        }
        assertAllGone(a, b, c);
    }

    @Test
    void liveForAsLongAsTheValue() {
        RRef list = listOfThree();
        Waits.until(
                "only the list has the value of a",
                () -> "1".equals(a.rpc().debugInfo().get("num_forks")));
        assertThat(c.rpc().debugInfo()).containsEntry("num_owner_rrefs", "1");

        list.close();

        assertAllGone(a, b, c);
    }

    @Test
    void outliveTheValueInAHandleOfTheirOwn() {
        RRef kept;
        try (RRef list = listOfThree();
                Response fetched = list.toHere(SOON)) {
            kept = inner(fetched, 2).retain();
        }
        assertHolds(kept, new Value.Items(List.of(Value.of(1))));
        kept.close();
        assertAllGone(a, b, c);
    }

    @Test
    void areInsideOfOthers() {
        RRef outermost = a.rpc().rref(Value.of("core"));
        for (Worker at : List.of(b, c, a, b)) {
            try (RRef former = outermost) {
                outermost = a.rpc().remote(at.info().name(), items(Value.of(former)));
                outermost.toHere(SOON).close();
            }
        }
        assertCore(outermost, 4);
        outermost.close();
        assertAllGone(a, b, c);
    }

    private static void assertCore(RRef reference, int depth) {
        if (depth == 0) {
            assertHolds(reference, Value.of("core"));
            return;
        }
        try (Response fetched = reference.toHere(SOON)) {
            assertCore(inner(fetched, 0), depth - 1);
        }
    }

    @Test
    void areReadByTheOwnerItself() {
        RRef left = a.rpc().remote("c", items(Value.of(5)));
        RRef own = a.rpc().rref(new Value.Items(List.of(Value.of(left))));
        left.close();
        RRef inner;
        try (Response read = own.localValue()) {
            inner = inner(read, 0);
            assertHolds(inner, new Value.Items(List.of(Value.of(5))));
        }
        own.close();
        assertThatThrownBy(() -> inner.toHere(SOON)).hasMessageContaining("has been deleted");
        assertAllGone(a, c);
    }

    @Test
    void areStillThereWhileTheirOwnerLeavesAndOthersHaveTheValue() throws Exception {
        RRef list = listOfThree();
        RRef handle = b.rpc().remote("c", items(Value.of(2)));
        Waits.until("c has another value", () -> "2".equals(c.rpc().debugInfo().get("num_owner_rrefs")));

        CompletableFuture<String> left =
                CompletableFuture.supplyAsync(() -> b.rpc().shutdown(SOON));

        Waits.until(
                "b gives back its handles", () -> "1".equals(c.rpc().debugInfo().get("num_owner_rrefs")));
        assertThatThrownBy(() -> handle.toHere(SOON)).hasMessageContaining("has been deleted");
        try (Response fetched = list.toHere(SOON)) {
            assertHolds(inner(fetched, 2), new Value.Items(List.of(Value.of(1))));
        }
        list.close();
        assertThat(left.get(20, TimeUnit.SECONDS)).isEmpty();
        assertAllGone(a, b, c);
    }

    @Test
    void failTheFetchWhenTheirOwnerIsGone() throws IOException {
        RRef list = listOfThree();
        c.close();
        Waits.until("b has seen it", () -> failure(list).isPresent());
        assertThat(failure(list)).get().satisfies(e -> {
            assertThat(e.code()).isEqualTo(ErrorCode.OWNER_LOST);
            assertThat(e).hasMessageContaining("which owned");
        });
        list.close();
        assertAllGone(a, b);
    }

    private static Optional<CallException> failure(RRef reference) {
        try {
            reference.toHere(SOON).close();
            return Optional.empty();
        } catch (CallException e) {
            return Optional.of(e);
        }
    }

    @Test
    void areNotKeptOnTheDisk() {
        try (RRef inner = a.rpc().rref(Value.of(1));
                RRef outer = a.rpc().rref(Value.of(inner))) {
            assertThatExceptionOfType(CallException.class)
                    .isThrownBy(outer::keep)
                    .withMessageContaining("it holds references")
                    .matches(e -> e.code() == ErrorCode.NOT_KEPT);
        }
        assertAllGone(a);
    }

    @Test
    void areNotMoreThanAMessageCarries() {
        try (RRef own = a.rpc().rref(Value.of(1))) {
            Value many = new Value.Items(Collections.nCopies(1025, Value.of(own)));
            assertThatExceptionOfType(CallException.class)
                    .isThrownBy(() -> a.rpc().rref(many))
                    .withMessageContaining("a value holds at most 1024 references: 1025")
                    .matches(e -> e.code() == ErrorCode.REFUSED);
        }
        assertAllGone(a);
    }
}
