package io.waybill.exchange;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.context.CallContext;
import io.waybill.api.context.ThreadContext;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.api.handler.SelectivelyBlocking;
import io.waybill.api.intercept.HandledMessage;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.api.intercept.InterceptedMessage;
import io.waybill.dispatch.DaemonThreads;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.Outcome;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.Provider;
import io.waybill.dispatch.StuckSettings;
import io.waybill.handling.CallReports;
import io.waybill.handling.Delivered;
import io.waybill.handling.Failure;
import io.waybill.handling.InboundMessage;
import io.waybill.handling.OutgoingResponse;
import io.waybill.host.Host;
import io.waybill.host.ManualClock;
import io.waybill.intercept.InterceptorRegistry;
import io.waybill.intercept.InterceptorSpec;
import io.waybill.intercept.Interceptors;
import io.waybill.testing.core.Waits;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The life of a request without a worker: each has one outcome, and every count is back at zero afterwards, whatever its handler does. */
@Timeout(60)
class ExchangeTest {

    private static final Provider ACME = new Provider("acme", "1.0.0");
    private static final MessageType OUTER = MessageType.of(0x150);
    private static final MessageType INNER = MessageType.of(0x151);
    private static final int WORKER = 7;
    private static final ClassLoader OUTSIDE = new ClassLoader() {};

    private final ManualClock clock = new ManualClock();
    private final DaemonThreads threads = new DaemonThreads();
    private final HandlerRegistry registry = new HandlerRegistry(ParkingSettings.DEFAULT, threads, clock);
    private final HandlerRegistry own = new HandlerRegistry(ParkingSettings.DEFAULT, threads, clock);
    private final HandlerExecutor executor = registry.newExecutor(ACME, ExecutorSettings.forProcessors(1));
    private final Stack stack = new Stack();
    private final List<String> errors = new ArrayList<>();
    private final Interceptors<HandlerInterceptor> interceptors = new InterceptorRegistry(Host.real()).handlers();
    private final ExchangeContext context = new ExchangeContext(
            WORKER, clock, threads, interceptors, () -> stack, new CallReports(own.events(), clock), new Errors());
    private final InnerRequests inner =
            new InnerRequests(context, HandlerLookup.of(registry, own, WORKER), StuckSettings.DEFAULT, 0, false);
    private final Request request = new Request();
    private final Exchange exchange = new Exchange(context, inner, request, request);
    private HandlerEntry entry;

    @AfterEach
    void endThreads() {
        Thread.currentThread().setContextClassLoader(getClass().getClassLoader());
        executor.close(Duration.ofSeconds(30));
    }

    /** Gives a request to a handler, and calls it. */
    private Exchange.Called serve(MessageHandler handler) {
        admit(handler);
        return exchange.call(stack);
    }

    private void admit(MessageHandler handler) {
        HandlerKey key = new HandlerKey.OfType(OUTER);
        boolean selects = handler instanceof SelectivelyBlocking;
        registry.add(new HandlerSpec(
                List.of(key), handler, selects, ACME, 0, getClass().getClassLoader(), executor));
        entry = registry.table().forKey(key);
        assertThat(exchange.openInterception()).isTrue();
        assertThat(entry.begin()).isTrue();
        exchange.admit(entry, 1);
    }

    /** The request has this outcome alone, and its handler could leave. */
    private void hasEnded(String... outcomes) {
        assertThat(request.outcomes).as("outcomes of the request").containsExactly(outcomes);
        assertThat(entry.inFlight()).as("requests in flight at the handler").isZero();
        assertThat(exchange.sequence()).as("the number of an ended request").isZero();
        assertThat(stack.depth).as("handlers that the thread is inside of").isZero();
    }

    @Test
    void endsWithTheResponse() {
        assertThat(serve((message, outbox) -> outbox.respond(Value.of("yes")))).isEqualTo(Exchange.Called.ENDED);
        hasEnded("response");
        assertThat(request.ends).containsExactly("released", "ended, reusable, returned");
        assertThat(errors).isEmpty();
    }

    @Test
    void endsWithWhatItsHandlerThrows() {
        serve((message, outbox) -> {
            outbox.respond(Value.of("dropped"));
            throw new IllegalArgumentException("no");
        });
        hasEnded("HANDLER_FAILED");
        assertThat(errors).containsExactly("threw request 1 java.lang.IllegalArgumentException: no");
    }

    @Test
    void endsWithItsHandlersRefusal() {
        serve((message, outbox) -> {
            throw new RejectedMessageException(ErrorCode.REFUSED, "not today");
        });
        hasEnded("REFUSED");
        assertThat(errors).isEmpty();
    }

    @Test
    void endsWhenItsHandlerGivesNoResponse() {
        serve((message, outbox) -> {});
        hasEnded("NO_RESPONSE");
        assertThat(errors).containsExactly("no response");
    }

    @Test
    void endsWhenItsSourceCanNotBeOpened() {
        request.failsToOpen = true;
        serve((message, outbox) -> outbox.respond(Value.of("never")));
        hasEnded("HANDLER_FAILED");
    }

    @Test
    void endsWhenItsContextCanNotBeRead() {
        request.hasBadContext = true;
        serve((message, outbox) -> outbox.respond(Value.of("never")));
        hasEnded("HANDLER_FAILED");
        assertThat(CallContext.current()).isEqualTo(CallContext.EMPTY);
    }

    @Test
    void endsWhenWhatCameWithItIsGone() {
        request.damage = Failure.of(ErrorCode.PEER_CORRUPT, WORKER, "cut");
        serve((message, outbox) -> outbox.respond(Value.of("made of it")));
        hasEnded("PEER_CORRUPT");
    }

    @Test
    void isCountedOutWhenItsOutcomeCanNotBeTaken() {
        request.failsToRespond = true;
        assertThatThrownBy(() -> serve((message, outbox) -> outbox.respond(Value.of("lost"))))
                .isInstanceOf(OutOfMemoryError.class);
        assertThat(entry.inFlight()).as("requests in flight at the handler").isZero();
        assertThat(request.ends).containsExactly("released", "ended, reusable, returned");
    }

    /** Where the thread and the counts are when a step of the end is taken. */
    private String state() {
        ClassLoader loader = Thread.currentThread().getContextClassLoader();
        return stack.depth + " handlers around the thread" + (loader == OUTSIDE ? "" : " and its class loader") + ", "
                + entry.inFlight() + " in flight at the handler, "
                + interceptors.statuses().get(0).inFlight() + " at its interceptor";
    }

    /** An update waits for the response; who sees that the request has ended finds it counted out. */
    @ParameterizedTest(name = "deferred: {0}")
    @ValueSource(booleans = {false, true})
    void leavesItsHandlerAndInterceptorsThenRespondsThenIsCountedOut(boolean isDeferred) {
        List<String> steps = new ArrayList<>();
        interceptors.add(InterceptorSpec.ofAll(
                new HandlerInterceptor() {
                    @Override
                    public void before(InterceptedMessage message, Outbox outbox) {
                        steps.add("before");
                    }

                    @Override
                    public void after(HandledMessage outcome) {
                        steps.add("after");
                    }
                },
                new Provider("around", "1.0.0")));
        request.onStep = step -> steps.add(step + ": " + state());
        Thread.currentThread().setContextClassLoader(OUTSIDE);
        AtomicReference<LateResponse> late = new AtomicReference<>();
        serve((message, outbox) -> {
            if (isDeferred) {
                late.set(outbox.later());
            } else {
                outbox.respond(Value.of("yes"));
            }
        });
        if (isDeferred) {
            late.get().send(Value.of("yes"));
        }
        String left = "0 handlers around the thread, ";
        assertThat(steps)
                .containsExactly(
                        "before",
                        "after",
                        "respond: " + left + "1 in flight at the handler, 0 at its interceptor",
                        "release: " + left + "1 in flight at the handler, 0 at its interceptor",
                        "ended: " + left + "0 in flight at the handler, 0 at its interceptor");
        hasEnded("response");
        assertThat(CallContext.current()).isEqualTo(CallContext.EMPTY);
    }

    @Test
    void canBeTakenBackFromAHandlerAndGivenToAnother() {
        admit((message, outbox) -> outbox.respond(Value.of("never")));
        exchange.withdraw();
        assertThat(exchange.isOpen(1))
                .as("whether a request that was taken back is open")
                .isFalse();
        assertThat(exchange.entry()).isNull();
        exchange.abandon(1); // by the watchdog, which has seen it before
        exchange.abandoned();
        assertThat(request.outcomes)
                .as("outcomes of a request that was taken back")
                .isEmpty();
        assertThat(request.ends).isEmpty();
        entry.end(Outcome.FAILED); // by who took it back
        assertThat(serve((message, outbox) -> outbox.respond(Value.of("yes")))).isEqualTo(Exchange.Called.ENDED);
        hasEnded("response");
    }

    @Test
    void failsWhenTheThreadsOfItsHandlerHaveEnded() {
        admit((message, outbox) -> outbox.respond(Value.of("never")));
        executor.close(Duration.ZERO);
        assertThat(exchange.queue(exchange)).as("whether a thread takes it").isFalse();
        hasEnded("HANDLER_GONE");
    }

    @Test
    void endsWithItsDeferredResponse() {
        AtomicReference<LateResponse> late = new AtomicReference<>();
        assertThat(serve((message, outbox) -> late.set(outbox.later()))).isEqualTo(Exchange.Called.DEFERRED);
        assertThat(request.outcomes).as("outcomes before the response is given").isEmpty();
        assertThat(entry.inFlight()).isEqualTo(1);
        late.get().send(Value.of("late"));
        late.get().send(Value.of("too late"));
        late.get().fail(ErrorCode.REFUSED, "too late");
        hasEnded("response");
        assertThat(request.ends).containsExactly("released", "ended, reusable");
    }

    @Test
    void endsWithADeferredResponseThatIsGivenAtOnce() {
        serve((message, outbox) -> outbox.later().send(Value.of("soon")));
        hasEnded("response");
    }

    @Test
    void dropsADeferredResponseOfAHandlerThatThrew() {
        AtomicReference<LateResponse> late = new AtomicReference<>();
        serve((message, outbox) -> {
            late.set(outbox.later());
            throw new IllegalStateException("after all");
        });
        late.get().send(Value.of("dropped"));
        hasEnded("HANDLER_FAILED");
    }

    @Test
    void isAbandonedOnce() {
        AtomicReference<LateResponse> late = new AtomicReference<>();
        serve((message, outbox) -> late.set(outbox.later()));
        exchange.abandon(2); // another use of the object
        assertThat(request.outcomes).isEmpty();
        exchange.abandon(1);
        exchange.abandon(1);
        late.get().send(Value.of("dropped"));
        hasEnded("HANDLER_STUCK");
        assertThat(request.ends).containsExactly("given up", "detached", "given up");
    }

    /** The watchdog asks later: a handler whose bundle gave the response at last, and dropped it, is not stuck any more. */
    @Test
    void knowsThatALateResponseWasGivenWhichIsGone() {
        AtomicReference<LateResponse> late = new AtomicReference<>();
        serve((message, outbox) -> late.set(outbox.later()));
        BooleanSupplier given = exchange.late().given();
        WeakReference<LateResponse> response = new WeakReference<>(late.get());
        exchange.abandon(1);
        assertThat(given.getAsBoolean()).as("given before it is").isFalse();
        late.getAndSet(null).send(Value.of("at last"));
        exchange.admit(entry, 2); // of which nothing refers to the response before
        Waits.until("the response is collected", () -> {
            System.gc();
            return response.get() == null;
        });
        assertThat(given.getAsBoolean()).as("given, as the watchdog sees it").isTrue();
    }

    @Test
    void keepsWhatCameWithItWhileAnAbandonedHandlerRuns() {
        serve((message, outbox) -> {
            exchange.abandon(1);
            assertThat(request.ends).containsExactly("detached");
            outbox.respond(Value.of("dropped"));
        });
        hasEnded("HANDLER_STUCK");
        assertThat(request.ends).containsExactly("detached", "given up");
    }

    @Test
    void expiresWhileItWaitsForAThread() {
        request.deadlineNs = clock.bootNs() + 1;
        admit((message, outbox) -> outbox.respond(Value.of("never")));
        clock.advance(Duration.ofNanos(2));
        exchange.run();
        hasEnded("TIMED_OUT");
    }

    @Test
    void takesAResponseFromItsHandlersThreadAlone() {
        AtomicReference<Outbox> kept = new AtomicReference<>();
        serve((message, outbox) -> {
            kept.set(outbox);
            outbox.respond(Value.of("mine"));
        });
        assertThatThrownBy(() -> kept.get().respond(Value.of("another's"))).isInstanceOf(IllegalStateException.class);
        hasEnded("response");
    }

    @Test
    void goesElsewhereWhenItBlocksAndTheThreadMustNotWait() {
        request.movesOn = true;
        stack.inline = 1;
        assertThat(serve(new Selective())).isEqualTo(Exchange.Called.BLOCKS);
        assertThat(request.outcomes).isEmpty();
        stack.inline = 0;
        assertThat(exchange.call(stack)).isEqualTo(Exchange.Called.ENDED);
        hasEnded("response");
    }

    /** A message inside a message passes through the same class. */
    @Test
    void servesAMessageInsideItsOwn() {
        HandlerKey key = new HandlerKey.OfType(INNER);
        registry.add(HandlerSpec.of(key, (message, outbox) -> outbox.later().send(Value.of(3)), ACME, executor));
        HandlerEntry ofInner = registry.table().forKey(key);
        serve((message, outbox) -> {
            try (Response response = outbox.dispatch(INNER, ByteBuffer.allocate(0), List.of(), List.of())) {
                outbox.respond(response.value());
            }
        });
        hasEnded("response");
        assertThat(ofInner.inFlight()).isZero();
    }

    @Test
    void failsWithTheMessageInsideIt() {
        serve((message, outbox) -> {
            try {
                outbox.dispatch(INNER, ByteBuffer.allocate(0), List.of(), List.of());
            } catch (CallException e) {
                outbox.respond(Value.of(e.code().name()));
                throw e;
            }
        });
        hasEnded("UNKNOWN_TYPE");
    }

    private static final class Selective implements MessageHandler, SelectivelyBlocking {

        @Override
        public boolean blocks(Message message) {
            return true;
        }

        @Override
        public void handle(Message message, Outbox outbox) {
            outbox.respond(Value.of("elsewhere"));
        }
    }

    private final class Errors implements HandlerErrors {

        @Override
        public void threw(HandlerEntry by, RequestSource of, Throwable error) {
            errors.add("threw " + of + " " + error);
        }

        @Override
        public void noResponse(HandlerEntry by) {
            errors.add("no response");
        }

        @Override
        public void notReleased(HandlerEntry by, Throwable error) {
            errors.add("not released " + error);
        }
    }

    private static final class Stack implements HandlerStack {

        private int depth;
        private int inline;

        @Override
        public ThreadContext context() {
            return ThreadContext.own();
        }

        @Override
        public HandlerCall enter(HandlerCall begun) {
            depth++;
            return null;
        }

        @Override
        public void leave(HandlerCall before) {
            depth--;
        }

        @Override
        public HandlerCall outermost() {
            return null;
        }

        @Override
        public void beginInline() {
            inline++;
        }

        @Override
        public void endInline() {
            inline--;
        }

        @Override
        public boolean isInline() {
            return inline > 0;
        }

        @Override
        public Object takeSpare() {
            return null;
        }

        @Override
        public boolean keepSpare(Object ended) {
            return false;
        }
    }

    /** A request that notes what becomes of it. */
    private static final class Request implements RequestSource, ResponseSink {

        private final MessageBuffer buffer =
                new MessageBuffer().begin(OUTER, 1, 3, WORKER, 0, 0).flags(0);
        private final RecordView view = new RecordView(buffer);
        private final InboundMessage message = new InboundMessage(view, deadline -> deadline, () -> "caller");
        private final List<String> outcomes = new ArrayList<>();
        private final List<String> ends = new ArrayList<>();
        private long deadlineNs;
        private boolean movesOn;
        private boolean failsToOpen;
        private boolean hasBadContext;
        private boolean failsToRespond;
        private Failure damage;
        private Consumer<String> onStep = step -> {};

        @Override
        public boolean respond(OutgoingResponse composed, Failure failed, boolean returned) {
            onStep.accept("respond");
            if (failsToRespond) {
                throw new OutOfMemoryError("planted");
            }
            outcomes.add(failed == null ? "response" : failed.code().name());
            return failed == null;
        }

        @Override
        public void ended(boolean reusable, boolean returned) {
            onStep.accept("ended");
            ends.add("ended" + (reusable ? ", reusable" : "") + (returned ? ", returned" : ""));
        }

        @Override
        public void detached() {
            ends.add("detached");
        }

        @Override
        public RecordView view() {
            return view;
        }

        @Override
        public long id() {
            return 1;
        }

        @Override
        public long deadlineNs() {
            return deadlineNs;
        }

        @Override
        public boolean isNested() {
            return view.parent() != MessageId.NONE;
        }

        @Override
        public Delivered delivered() {
            return Delivered.FIRST;
        }

        @Override
        public CallContext context() {
            if (hasBadContext) {
                throw new IllegalStateException("planted");
            }
            return CallContext.EMPTY;
        }

        @Override
        public HandlerServices services() {
            throw new UnsupportedOperationException("the handlers of this test make no calls");
        }

        @Override
        public boolean movesOn() {
            return movesOn;
        }

        @Override
        public InboundMessage open(HandlerEntry by) {
            if (failsToOpen) {
                throw new OutOfMemoryError("planted");
            }
            message.open(by.key(), Delivered.FIRST, List.of());
            return message;
        }

        @Override
        public Failure damage() {
            return damage;
        }

        @Override
        public void giveUp() {
            ends.add("given up");
        }

        @Override
        public boolean release() {
            onStep.accept("release");
            ends.add("released");
            return true;
        }

        @Override
        public String senderName() {
            return "peer";
        }

        @Override
        public boolean isFromSelf() {
            return false;
        }

        @Override
        public InnerCreation takeCreation() {
            return null;
        }

        @Override
        public String toString() {
            return "request 1";
        }
    }
}
