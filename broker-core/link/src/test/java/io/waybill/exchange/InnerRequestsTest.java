package io.waybill.exchange;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.MessageType;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.api.policy.Decision;
import io.waybill.dispatch.AccessPolicies;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.Provider;
import io.waybill.host.Host;
import io.waybill.host.Threads;
import io.waybill.testing.core.Waits;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Messages that a handler dispatches, without a worker: where they run, for what they wait, and how they end. */
@Timeout(180)
class InnerRequestsTest {

    private static final MessageType OUTER = MessageType.userRequest(0x50);
    private static final MessageType INNER = MessageType.userRequest(0x51);
    private static final Provider ZETA = new Provider("zeta", "1.0.0");
    private static final Provider POLICY = new Provider("policy", "1.0.0");

    private final Hooked threads = new Hooked();
    private final ExchangeRoom room = new ExchangeRoom(threads);
    private final HandlerExecutor zeta = room.newExecutor(ZETA);
    private final OuterRequest request = new OuterRequest(OUTER);
    private final List<String> seen = new CopyOnWriteArrayList<>();
    private final CountDownLatch released = new CountDownLatch(1);
    private Exchange outer = new Exchange(room.context, room.inner, request, request);

    @AfterEach
    void close() {
        released.countDown();
        room.close();
    }

    private interface Wait {
        void on(Object monitor) throws InterruptedException;
    }

    /** Real threads, of which the test sees the waits for a handler, and its own for an outcome. */
    private static final class Hooked implements Threads {

        private volatile Wait inWait = monitor -> monitor.wait(1);
        private final Thread dispatches = Thread.currentThread();
        private volatile Runnable beforePark = () -> {};

        @Override
        public Thread start(String name, Runnable body) {
            return Host.real().threads().start(name, body);
        }

        @Override
        public void waitOn(Object monitor, long maxMs) throws InterruptedException {
            inWait.on(monitor);
        }

        @Override
        public void park(Object blocker, long maxNs) {
            if (Thread.currentThread() == dispatches) {
                Runnable once = beforePark;
                beforePark = () -> {};
                once.run();
            }
            Threads.super.park(blocker, maxNs);
        }
    }

    /** Runs the handler of the outer request on this thread. */
    private HandlerRegistry.Registration serve(MessageHandler handler) {
        HandlerRegistry.Registration served = room.handleInline(OUTER, handler);
        HandlerEntry entry = room.entry(OUTER);
        assertThat(outer.openInterception() && entry.begin()).isTrue();
        outer.admit(entry, 1);
        outer.call(room.slots.own());
        assertThat(room.errors).as("errors of handlers").isEmpty();
        return served;
    }

    private HandlerRegistry.Registration handleInner(
            boolean nonBlocking, HandlerExecutor by, Provider of, MessageHandler handler) {
        HandlerKey key = new HandlerKey.OfType(INNER);
        return room.registry.add(new HandlerSpec(
                List.of(key), handler, nonBlocking, of, 0, getClass().getClassLoader(), by));
    }

    private static Response dispatch(Outbox outbox, MessageType type) {
        return outbox.dispatch(type, ByteBuffer.allocate(0), List.of(), List.of());
    }

    private static CompletableFuture<Response> dispatchAsync(Outbox outbox, MessageType type) {
        return outbox.dispatchAsync(type, ByteBuffer.allocate(0), List.of(), List.of());
    }

    /** Returns the value of a message of the inner type, or the error that its dispatcher gets. */
    private static String outcome(Outbox outbox, MessageType type) {
        try (Response response = dispatch(outbox, type)) {
            return response.value().toString();
        } catch (CallException e) {
            return e.code().name();
        }
    }

    private static String outcome(CompletableFuture<Response> future) {
        try (Response response = future.join()) {
            return response.value().toString();
        } catch (CompletionException e) {
            return e.getCause() instanceof CallException call
                    ? call.code().name()
                    : e.getCause().toString();
        }
    }

    private void noteThread(Outbox outbox) {
        String inline = room.slots.own().isInline() ? ", and must not wait" : "";
        seen.add(Thread.currentThread().getName() + inline);
        outbox.respond(Value.NONE);
    }

    /** Returns where the handler of a message runs that this thread dispatches. */
    private String threadOf(boolean nonBlocking, HandlerExecutor by, Provider of) {
        seen.clear();
        request.outcomes.clear();
        HandlerRegistry.Registration inner = handleInner(nonBlocking, by, of, (message, outbox) -> noteThread(outbox));
        HandlerRegistry.Registration served = serve((message, outbox) -> {
            dispatch(outbox, INNER).close();
            outbox.respond(Value.NONE);
        });
        room.registry.withdraw(List.of(inner, served), Duration.ZERO);
        assertThat(request.outcomes).as("outcomes of the outer request").containsExactly("response");
        assertThat(seen).as("threads that ran the handler").hasSize(1);
        return seen.get(0).replace(Thread.currentThread().getName(), "the dispatching thread");
    }

    @Test
    void runsAHandlerOnTheThreadsOfItsBundleUnlessItNeedsNoneOrGetsNone() {
        String here = "the dispatching thread";
        assertThat(threadOf(false, zeta, ZETA))
                .as("a handler of another bundle")
                .startsWith("zeta-handler-");
        assertThat(threadOf(false, room.executor, ExchangeRoom.ACME))
                .as("a handler of the same bundle")
                .isEqualTo(here);
        assertThat(threadOf(true, zeta, ZETA)).as("a non-blocking handler").isEqualTo(here + ", and must not wait");
        assertThat(room.slots.own().isInline()).as("whether its end is marked").isFalse();
        outer = new Exchange(room.context, room.newInner(true), request, request);
        assertThat(threadOf(false, zeta, ZETA)).as("in a replay, in its order").isEqualTo(here);
        outer = new Exchange(room.context, room.inner, request, request);
        zeta.close(Duration.ZERO);
        assertThat(threadOf(false, zeta, ZETA)).as("where no thread takes it").isEqualTo(here);
    }

    @Test
    void refusesWhatIsTooDeepOrCreatesAValueForNoReference() {
        handleInner(false, zeta, ZETA, (message, outbox) -> outbox.respond(Value.of("inner")));
        request.depth = Outbox.MAX_DEPTH;
        serve((message, outbox) -> {
            seen.add(outcome(outbox, INNER));
            seen.add(outcome(dispatchAsync(outbox, INNER)));
            request.depth--;
            seen.add(outcome(outbox, INNER));
            seen.add(outcome(outbox, MessageType.SCRIPT_REMOTE_CALL));
            outbox.respond(Value.NONE);
        });
        assertThat(seen)
                .as("outcomes of the messages")
                .containsExactly("REFUSED", "REFUSED", Value.of("inner").toString(), "MALFORMED_BODY");
        assertThat(outer.dispatched().isEmpty())
                .as("whether none still uses the request")
                .isTrue();
    }

    @Test
    void beginsAWaitingMessageWhenItIsSignalledThatAHandlerCame() throws Exception {
        room.registry.expectMore();
        CountDownLatch waiting = new CountDownLatch(1);
        threads.inWait = monitor -> {
            waiting.countDown();
            monitor.wait(); // until it is signalled, however long that takes
        };
        FutureTask<Void> serving = new FutureTask<>(
                () -> serve((message, outbox) -> {
                    seen.add(outcome(outbox, INNER));
                    outbox.respond(Value.NONE);
                }),
                null);
        threads.start("serves", serving);
        waiting.await();
        assertThat(outer.isWaiting())
                .as("whether the message is watched in place of its dispatcher")
                .isTrue();
        handleInner(false, zeta, ZETA, (message, outbox) -> outbox.respond(Value.of("came")));
        room.inner.signal();
        serving.get(120, TimeUnit.SECONDS);
        assertThat(seen).containsExactly(Value.of("came").toString());
        assertThat(outer.isWaiting())
                .as("whether it is watched when it has ended")
                .isFalse();
    }

    @Test
    void endsWhatWaitsForLongerThanRequestsPark() {
        room.registry.expectMore();
        List<CompletableFuture<Response>> later = new ArrayList<>();
        threads.inWait = monitor -> room.clock.advance(ExchangeRoom.PARKING.plusNanos(1));
        serve((message, outbox) -> {
            seen.add(outcome(outbox, INNER));
            later.add(dispatchAsync(outbox, INNER));
            outbox.respond(Value.NONE);
        });
        assertThat(seen).as("the one that was waited for").containsExactly("HANDLER_GONE");
        room.clock.advance(ExchangeRoom.PARKING);
        room.inner.look();
        assertThat(outer.dispatched().isEmpty())
                .as("whether the other one has ended at the limit")
                .isFalse();
        room.clock.advance(Duration.ofNanos(1));
        room.inner.look();
        assertThat(outcome(later.get(0))).as("the other one, behind the limit").isEqualTo("HANDLER_GONE");
        assertThat(outer.dispatched().isEmpty())
                .as("whether none still uses the request")
                .isTrue();
    }

    @Test
    void letsNoHandlerWaitThatMustNot() {
        handleInner(false, zeta, ZETA, (message, outbox) -> outbox.respond(Value.of("inner")));
        List<CompletableFuture<Response>> later = new ArrayList<>();
        room.slots.own().beginInline();
        serve((message, outbox) -> {
            for (MessageType type : List.of(INNER, OUTER)) {
                try {
                    room.registry.expectMore(); // one has a blocking handler, and the other one none yet
                    dispatch(outbox, type == INNER ? INNER : MessageType.userRequest(0x52))
                            .close();
                } catch (IllegalStateException e) {
                    seen.add(e.getMessage());
                }
            }
            later.add(dispatchAsync(outbox, INNER));
            outbox.respond(Value.NONE);
        });
        room.slots.own().endInline();
        assertThat(seen).as("errors of its waits").hasSize(2).allMatch(text -> text.contains("must not wait"));
        assertThat(outcome(later.get(0)))
                .as("what it did not wait for")
                .isEqualTo(Value.of("inner").toString());
        Waits.until(
                "nothing is in flight",
                () -> room.entry(INNER).inFlight() == 0 && outer.dispatched().isEmpty());
    }

    @Test
    void endsAWaitAtTheDeadlineOrByAnInterruptAndLeavesTheInnerHandlerAlone() {
        Semaphore begun = new Semaphore(0);
        handleInner(false, zeta, ZETA, (message, outbox) -> {
            begun.release();
            awaitRelease();
            outbox.respond(Value.of("too late"));
        });
        HandlerEntry inner = room.entry(INNER);
        request.deadlineNs = room.clock.bootNs() + 1_000_000_000;
        serve((message, outbox) -> {
            threads.beforePark = () -> {
                begun.acquireUninterruptibly();
                Thread.currentThread().interrupt();
            };
            seen.add(outcome(outbox, INNER) + (Thread.interrupted() ? ", and is interrupted" : ""));
            threads.beforePark = () -> {
                begun.acquireUninterruptibly();
                room.clock.advance(Duration.ofSeconds(1));
            };
            seen.add(outcome(outbox, INNER) + (Thread.interrupted() ? ", and is interrupted" : ""));
            outbox.respond(Value.NONE);
        });
        assertThat(seen)
                .as("outcomes for the outer handler")
                .containsExactly("HANDLER_GONE, and is interrupted", "TIMED_OUT");
        assertThat(inner.inFlight()).as("inner handlers that go on").isEqualTo(2);
        assertThat(outer.dispatched().isEmpty())
                .as("whether none still uses the request")
                .isFalse();
        released.countDown();
        Waits.until("the inner handlers have ended", () -> inner.inFlight() == 0);
        Waits.until("none still uses the request", () -> outer.dispatched().isEmpty());
        assertThat(room.errors).isEmpty();
    }

    private void awaitRelease() {
        try {
            released.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException("the interrupt was for the outer handler", e);
        }
    }

    @Test
    void asksEachPolicyOnceAndWaitsForOneThatIsAway() {
        List<String> asked = new CopyOnWriteArrayList<>();
        room.registry.expectMore();
        AccessPolicies policies = room.registry.policies();
        AccessPolicies.Registration denies = policies.add(POLICY, asks -> Decision.deny("not today"));
        List<CompletableFuture<Response>> later = new ArrayList<>();
        serve((message, outbox) -> {
            seen.add(outcome(outbox, INNER));
            denies.withdraw();
            later.add(dispatchAsync(outbox, INNER));
            outbox.respond(Value.NONE);
        });
        assertThat(seen).as("the one that was denied").containsExactly("ACCESS_DENIED");
        room.inner.look();
        assertThat(later.get(0)).as("the other one, while the policy is away").isNotDone();
        policies.add(POLICY, asks -> {
            asked.add(asks.workerName() + " asks for " + asks.type());
            return Decision.allow();
        });
        Waits.until("the policy has decided", () -> {
            room.inner.look();
            return !asked.isEmpty();
        });
        handleInner(false, zeta, ZETA, (message, outbox) -> outbox.respond(Value.of("allowed")));
        Waits.until(
                "the message has ended",
                () -> { // its thread may still be about to let it wait for the handler
                    room.inner.look();
                    return later.get(0).isDone();
                });
        assertThat(outcome(later.get(0))).isEqualTo(Value.of("allowed").toString());
        assertThat(asked).as("decisions").containsExactly("peer asks for " + INNER);
    }
}
