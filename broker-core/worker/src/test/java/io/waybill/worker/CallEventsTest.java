package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.event.CallEvent;
import io.waybill.api.event.CallEvent.Kind;
import io.waybill.api.event.CallEvents;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.event.CallListeners;
import io.waybill.testing.core.Waits;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What listeners see of the calls of two workers, and that calls don't see what listeners do. */
@Timeout(180)
class CallEventsTest {

    @TempDir
    Path directory;

    private Workers workers;
    private HandlerRegistry serving;
    private HandlerRegistry calling;
    private Worker caller;
    private Worker callee;
    private final CountDownLatch hanging = new CountDownLatch(1);

    @BeforeEach
    void join() throws Exception {
        workers = new Workers(directory);
        serving = workers.registry();
        calling = workers.registry();
        workers.handleOnPoller(serving, "text.quick", (message, outbox) -> outbox.respond(Value.of("quick")));
        workers.handle(serving, "text.slow", (message, outbox) -> outbox.respond(Value.of("slow")));
        workers.handle(serving, "text.fail", (message, outbox) -> {
            throw new IllegalStateException("planted");
        });
        workers.handle(serving, "text.nested", (message, outbox) -> {
            try (Response inner = outbox.caller().call(Request.operation("caller", "text.inner"))) {
                outbox.respond(inner.value());
            }
        });
        workers.handle(calling, "text.inner", (message, outbox) -> outbox.respond(Value.of("inner")));
        callee = workers.join("callee", serving);
        caller = workers.join("caller", calling);
    }

    @AfterEach
    void leave() throws Exception {
        hanging.countDown();
        workers.close();
    }

    /** A copy of an event. */
    private record Seen(
            Kind kind,
            long id,
            long parentId,
            int peer,
            MessageType type,
            String operation,
            int bytes,
            int tensors,
            ErrorCode error,
            String responder,
            long timeNs) {

        static Seen of(CallEvent event) {
            return new Seen(
                    event.kind(),
                    event.id(),
                    event.parentId(),
                    event.peer(),
                    event.type(),
                    event.operation(),
                    event.bytes(),
                    event.tensors(),
                    event.error(),
                    event.responder(),
                    event.timeNs());
        }
    }

    /** Keeps what it sees. */
    private static final class Recorded implements CallEvents {
        private final List<Seen> seen = new ArrayList<>(); // guarded by itself

        @Override
        public void onEvent(CallEvent event) {
            synchronized (seen) {
                seen.add(Seen.of(event));
            }
        }

        List<Seen> of(long id) {
            synchronized (seen) {
                return seen.stream().filter(event -> event.id() == id).toList();
            }
        }

        List<Seen> await(long id, Kind last) {
            Waits.until("event " + last, () -> of(id).stream().anyMatch(event -> event.kind() == last));
            return of(id);
        }
    }

    private static List<Kind> kinds(List<Seen> events) {
        return events.stream().map(Seen::kind).toList();
    }

    private long call(String operation) {
        try (Response response = caller.call(Request.operation("callee", operation))) {
            return response.id();
        }
    }

    @Test
    void aWaitingThreadReportsTheEndOfItsCall() {
        List<Thread> threads = new CopyOnWriteArrayList<>();
        calling.events().add("test 1", event -> {
            if (event.kind() == Kind.ENDED) {
                threads.add(Thread.currentThread());
            }
        });
        call("text.slow");
        assertThat(threads).containsExactly(Thread.currentThread());
        assertThatThrownBy(() -> call("text.fail")).isInstanceOf(CallException.class);
        assertThat(threads).containsExactly(Thread.currentThread(), Thread.currentThread());
    }

    @Test
    void reportsWhatHappenedOnBothSides() {
        Recorded atCaller = new Recorded();
        Recorded atCallee = new Recorded();
        calling.events().add("test 1", atCaller);
        serving.events().add("test 1", atCallee);
        long id = call("text.slow");
        List<Seen> called = atCaller.await(id, Kind.ENDED);
        List<Seen> served = atCallee.await(id, Kind.RESPONDED);
        assertThat(kinds(called)).containsExactlyInAnyOrder(Kind.APPENDED, Kind.ENDED);
        assertThat(kinds(served)).containsExactly(Kind.READ, Kind.QUEUED, Kind.BEGUN, Kind.RESPONDED);
        assertThat(served)
                .extracting(Seen::responder)
                .containsExactly("", "", "test-text.slow 1.0.0", "test-text.slow 1.0.0");
        assertThat(called).extracting(Seen::responder).containsOnly("");
        assertThat(served).allSatisfy(event -> {
            assertThat(event.peer()).isEqualTo(caller.info().id());
            assertThat(event.operation()).isEqualTo("text.slow");
            assertThat(event.type()).isEqualTo(MessageType.NAMED_CALL);
            assertThat(event.bytes()).isPositive();
            assertThat(event.error()).isNull();
        });
        Seen appended = called.stream()
                .filter(event -> event.kind() == Kind.APPENDED)
                .findFirst()
                .orElseThrow();
        Seen ended = called.stream()
                .filter(event -> event.kind() == Kind.ENDED)
                .findFirst()
                .orElseThrow();
        assertThat(appended.peer()).isEqualTo(callee.info().id());
        assertThat(appended.operation()).isEqualTo("text.slow");
        assertThat(appended.bytes()).isEqualTo(served.get(0).bytes());
        assertThat(ended.bytes()).isEqualTo(served.get(3).bytes());
        List<Long> times = new ArrayList<>(List.of(appended.timeNs()));
        served.forEach(event -> times.add(event.timeNs()));
        times.add(ended.timeNs());
        assertThat(times).as("times of both sides, on one clock").isSorted();
    }

    @Test
    void runsInlineWithoutAQueue() {
        Recorded atCallee = new Recorded();
        serving.events().add("test 1", atCallee);
        assertThat(kinds(atCallee.await(call("text.quick"), Kind.RESPONDED)))
                .containsExactly(Kind.READ, Kind.BEGUN, Kind.RESPONDED);
    }

    @Test
    void namesParentsAndErrors() {
        Recorded atCaller = new Recorded();
        Recorded atCallee = new Recorded();
        calling.events().add("test 1", atCaller);
        serving.events().add("test 1", atCallee);
        long outer = call("text.nested");
        Waits.until(
                "the inner call is seen", () -> atCallee.seen.stream().anyMatch(event -> event.parentId() == outer));
        CallException failure = failure("text.fail", Duration.ofSeconds(20));
        assertThat(atCallee.await(failure.messageId(), Kind.RESPONDED))
                .last()
                .satisfies(event -> assertThat(event.error()).isEqualTo(ErrorCode.HANDLER_FAILED));
        assertThat(atCaller.await(failure.messageId(), Kind.ENDED)).last().satisfies(event -> {
            assertThat(event.error()).isEqualTo(ErrorCode.HANDLER_FAILED);
            assertThat(event.peer()).isEqualTo(callee.info().id());
        });
    }

    @Test
    void reportsRequestsThatNoHandlerBegins() {
        Recorded atCallee = new Recorded();
        serving.events().add("test 1", atCallee);
        CallException unknown = failure("no.such", Duration.ofSeconds(20));
        assertThat(atCallee.await(unknown.messageId(), Kind.RESPONDED))
                .singleElement()
                .satisfies(event -> {
                    assertThat(event.error()).isEqualTo(ErrorCode.UNKNOWN_OPERATION);
                    assertThat(event.operation()).isEqualTo("no.such");
                    assertThat(event.responder()).isEmpty();
                });
    }

    @Test
    void reportsHowLongARequestWasParked() {
        Recorded atCallee = new Recorded();
        serving.events().add("test 1", atCallee);
        HandlerRegistry.Registration late = workers.handle(serving, "text.late", (message, outbox) -> {});
        late.withdraw(Duration.ofSeconds(1));
        CompletableFuture<Response> response = caller.callAsync(Request.operation("callee", "text.late"));
        Waits.until("it is parked", () -> serving.parkedRequests() == 1);
        workers.handle(serving, "text.late", (message, outbox) -> outbox.respond(Value.of("late")));
        long id = response.join().id();
        response.join().close();
        List<Seen> seen = atCallee.await(id, Kind.RESPONDED);
        assertThat(kinds(seen)).containsExactly(Kind.READ, Kind.PARKED, Kind.QUEUED, Kind.BEGUN, Kind.RESPONDED);
        assertThat(seen).extracting(Seen::timeNs).isSorted();
    }

    @Test
    void reportsATimeoutOnce() {
        Recorded atCaller = new Recorded();
        calling.events().add("test 1", atCaller);
        workers.handle(serving, "text.hang", (message, outbox) -> outbox.later());
        CallException failure = failure("text.hang", Duration.ofMillis(50));
        assertThat(atCaller.await(failure.messageId(), Kind.ENDED))
                .filteredOn(event -> event.kind() == Kind.ENDED)
                .singleElement()
                .satisfies(event -> assertThat(event.error()).isEqualTo(ErrorCode.TIMED_OUT));
    }

    private CallException failure(String operation, Duration timeout) {
        AtomicReference<CallException> failure = new AtomicReference<>();
        assertThatThrownBy(
                        () -> caller.call(Request.operation("callee", operation).timeout(timeout))
                                .close())
                .isInstanceOfSatisfying(CallException.class, failure::set);
        return failure.get();
    }

    /** Whatever a listener can do. */
    private enum Misbehaviour {
        THROWS,
        THROWS_ERROR,
        HANGS,
        KEEPS_THE_EVENT
    }

    private CallEvents misbehaving(Misbehaviour kind, Kind at, List<CallEvent> kept) {
        return event -> {
            if (event.kind() != at) {
                return;
            }
            switch (kind) {
                case THROWS -> throw new IllegalStateException("planted");
                case THROWS_ERROR -> throw new StackOverflowError();
                case HANGS -> {
                    while (hanging.getCount() > 0) {
                        try {
                            hanging.await();
                        } catch (InterruptedException e) {
                            // on purpose
                        }
                    }
                }
                case KEEPS_THE_EVENT -> kept.add(event);
            }
        };
    }

    private static void awaitDropped(HandlerRegistry of) {
        Waits.until("it is dropped", () -> isDropped(of));
    }

    private static boolean isDropped(HandlerRegistry of) {
        return of.events().problem("org.acme.bad 1").isPresent();
    }

    /** Calls, and waits for the outcome, which may be that it was too late. */
    private void callSlowly() {
        caller.callAsync(Request.operation("callee", "text.slow").timeout(Duration.ofMillis(500)))
                .handle((response, failure) -> {
                    if (response != null) {
                        response.close();
                    }
                    return null;
                })
                .join();
    }

    @Test
    void letsACallGoOnWhoseListenerIsInterrupted() {
        serving.events().add("org.acme.bad 1", event -> {
            try {
                hanging.await();
            } catch (InterruptedException e) {
                // it returns
            }
        });
        CompletableFuture<Response> held = caller.callAsync(Request.operation("callee", "text.slow"));
        awaitDropped(serving);
        held.join().close();
    }

    @ParameterizedTest
    @EnumSource
    void callsNeverNoticeAListenerOfTheirCallee(Misbehaviour kind) {
        for (Kind at : List.of(Kind.READ, Kind.BEGUN, Kind.RESPONDED)) {
            Recorded well = new Recorded();
            CallListeners.Registration bad =
                    serving.events().add("org.acme.bad 1", misbehaving(kind, at, new ArrayList<>()));
            CallListeners.Registration good = serving.events().add("test 1", well);
            callSlowly();
            if (kind == Misbehaviour.HANGS) { // until it is dropped it may hold each call that reaches it
                Waits.until("it is dropped", () -> {
                    callSlowly(); // the first call may have been too late for the callee
                    return isDropped(serving);
                });
            }
            for (int i = 0; i < 20; i++) {
                assertThat(well.await(call("text.slow"), Kind.RESPONDED)).isNotEmpty();
                assertThat(well.await(call("text.quick"), Kind.RESPONDED)).isNotEmpty();
            }
            if (kind != Misbehaviour.KEEPS_THE_EVENT) {
                awaitDropped(serving);
            }
            bad.remove();
            good.remove();
            assertThat(serving.events().problem("org.acme.bad 1")).isEmpty();
        }
    }

    @ParameterizedTest
    @EnumSource
    void callsNeverNoticeAListenerOfTheirCaller(Misbehaviour kind) {
        List<CallEvent> kept = new ArrayList<>();
        CallListeners.Registration bad = calling.events().add("org.acme.bad 1", misbehaving(kind, Kind.ENDED, kept));
        Recorded well = new Recorded();
        calling.events().add("test 1", well);
        CompletableFuture<Response> first = caller.callAsync(Request.operation("callee", "text.slow"));
        first.join().close();
        for (int i = 0; i < 20; i++) {
            CompletableFuture<Response> next = caller.callAsync(Request.operation("callee", "text.quick"));
            next.join().close();
        }
        if (kind == Misbehaviour.KEEPS_THE_EVENT) {
            assertThatThrownBy(() -> kept.get(0).id())
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("valid until the listener returns");
        } else {
            awaitDropped(calling);
        }
        bad.remove();
    }

    @Test
    void reportsRefusalsThoughOneListenerHangs() {
        Recorded well = new Recorded();
        serving.events().add("org.acme.bad 1", misbehaving(Misbehaviour.HANGS, Kind.RESPONDED, new ArrayList<>()));
        serving.events().add("test 1", well);
        failure("no.such", Duration.ofSeconds(20));
        awaitDropped(serving);
        CallException second = failure("no.such", Duration.ofSeconds(20));
        assertThat(well.await(second.messageId(), Kind.RESPONDED)).hasSize(1);
    }

    /** Wants what it is told to. */
    private record Choosy(Supplier<Set<Kind>> wanted, Recorded recorded) implements CallEvents {

        @Override
        public Set<Kind> kinds() {
            return wanted.get();
        }

        @Override
        public void onEvent(CallEvent event) {
            recorded.onEvent(event);
        }
    }

    @Test
    void notifiesOfTheKindsThatAListenerWants() {
        Recorded ends = new Recorded();
        Recorded none = new Recorded();
        Recorded all = new Recorded();
        calling.events().add("test 1", new Choosy(() -> EnumSet.of(Kind.ENDED), ends));
        serving.events().add("test 1", new Choosy(() -> EnumSet.of(Kind.BEGUN), ends));
        serving.events().add("test 2", new Choosy(Set::of, none));
        long first = call("text.slow");
        ends.await(first, Kind.ENDED);
        assertThat(kinds(ends.of(first))).containsExactlyInAnyOrder(Kind.BEGUN, Kind.ENDED);
        serving.events().add("test 3", all);
        long second = call("text.slow");
        all.await(second, Kind.RESPONDED);
        assertThat(kinds(all.of(second))).containsExactly(Kind.READ, Kind.QUEUED, Kind.BEGUN, Kind.RESPONDED);
        ends.await(second, Kind.ENDED);
        assertThat(kinds(ends.of(second))).containsExactlyInAnyOrder(Kind.BEGUN, Kind.ENDED);
        assertThat(none.seen).isEmpty();
    }

    @Test
    void takesKindsThatCantBeReadForAll() {
        List<Supplier<Set<Kind>>> bad = List.of(
                () -> null,
                () -> {
                    throw new IllegalStateException("planted");
                },
                () -> {
                    throw new StackOverflowError("planted");
                },
                () -> Collections.singleton(null));
        for (Supplier<Set<Kind>> kinds : bad) {
            AtomicInteger charged = new AtomicInteger();
            Recorded recorded = new Recorded();
            CallListeners.Registration added =
                    serving.events().add("org.acme.bad 1", new Choosy(kinds, recorded), charged::incrementAndGet);
            long id = call("text.slow");
            recorded.await(id, Kind.RESPONDED);
            assertThat(kinds(recorded.of(id))).containsExactly(Kind.READ, Kind.QUEUED, Kind.BEGUN, Kind.RESPONDED);
            assertThat(charged).hasValue(1);
            added.remove();
        }
    }

    @Test
    void doesNotReportTheCallsOfAListener() {
        AtomicLongArray counts = new AtomicLongArray(Kind.values().length);
        calling.events().add("org.acme.calls 1", event -> {
            counts.incrementAndGet(event.kind().ordinal());
            if (event.kind() == Kind.APPENDED) {
                caller.callAsync(Request.operation("callee", "text.quick")).thenAccept(Response::close);
            }
        });
        call("text.quick");
        Waits.until("both have ended", () -> counts.get(Kind.ENDED.ordinal()) == 2);
        assertThat(counts.get(Kind.APPENDED.ordinal())).isEqualTo(1);
    }

    @Test
    void allocatesNothingForAListenerThatCounts() {
        AtomicLongArray counts = new AtomicLongArray(Kind.values().length);
        CallEvents counting = event -> {
            counts.incrementAndGet(event.kind().ordinal());
            event.operation();
        };
        long without = allocatedPerCall();
        calling.events().add("test 1", counting);
        serving.events().add("test 1", counting);
        long with = allocatedPerCall();
        for (int i = 0; i < 5 && with - without >= 16; i++) { // other threads allocate, too: more on a busy machine
            with = Math.min(with, allocatedPerCall());
        }
        assertThat(counts.get(Kind.ENDED.ordinal())).isPositive();
        assertThat(counts.get(Kind.RESPONDED.ordinal())).isPositive();
        assertThat(with - without).as("bytes per call, of all threads").isLessThan(16);
    }

    private long allocatedPerCall() {
        Request request = Request.raw("callee", MessageType.NAMED_CALL, payload(), List.of());
        long before = 0;
        int calls = 20_000;
        for (int i = 0; i < 2 * calls; i++) {
            if (i == calls) {
                before = allocated();
            }
            caller.call(request).close();
        }
        return (allocated() - before) / calls;
    }

    private static ByteBuffer payload() {
        Request named = Request.operation("callee", "text.quick");
        return ByteBuffer.wrap(named.payloadArray(), 0, named.payloadLength());
    }

    private static long allocated() {
        com.sun.management.ThreadMXBean threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        long sum = 0;
        for (long bytes : threads.getThreadAllocatedBytes(threads.getAllThreadIds())) {
            sum += Math.max(0, bytes);
        }
        return sum;
    }
}
