package io.waybill.worker.upkeep;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.Value;
import io.waybill.api.context.CallContext;
import io.waybill.api.handler.LateResponse;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.Provider;
import io.waybill.dispatch.StuckSettings;
import io.waybill.exchange.Exchange;
import io.waybill.exchange.ExchangeContext;
import io.waybill.exchange.HandlerErrors;
import io.waybill.exchange.HandlerLookup;
import io.waybill.exchange.HandlerServices;
import io.waybill.exchange.InnerCreation;
import io.waybill.exchange.InnerRequests;
import io.waybill.exchange.RequestSource;
import io.waybill.exchange.ResponseSink;
import io.waybill.handling.CallReports;
import io.waybill.handling.Delivered;
import io.waybill.handling.Failure;
import io.waybill.handling.InboundMessage;
import io.waybill.handling.OutgoingResponse;
import io.waybill.host.Host;
import io.waybill.host.ManualClock;
import io.waybill.host.Threads;
import io.waybill.intercept.InterceptorRegistry;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import io.waybill.worker.metrics.WorkerCounters;
import io.waybill.worker.poll.HandlerSlots;
import io.waybill.worker.serve.OpenRequests;
import io.waybill.worker.serve.OpenedRequests;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Deferred responses that do not come: which are counted as stuck, and which requests end without theirs. */
@Timeout(60)
class DeferredResponseWatchTest {

    private static final int WORKER = 7;
    private static final Provider ACME = new Provider("acme", "1.0.0");
    private static final MessageType TYPE = MessageType.of(0x150);
    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    private static final Duration AFTER = Duration.ofSeconds(30);
    private static final Duration WITHOUT_DEADLINE = Duration.ofMinutes(5);

    private final ManualClock clock = new ManualClock();
    private final Threads threads = Host.real().threads();
    private final HandlerRegistry registry = new HandlerRegistry(ParkingSettings.DEFAULT, threads, clock);
    private final HandlerExecutor executor = registry.newExecutor(ACME, ExecutorSettings.forProcessors(1));
    private final HandlerSlots slots = new HandlerSlots(threads);
    private final ExchangeContext context = new ExchangeContext(
            WORKER,
            clock,
            threads,
            new InterceptorRegistry(Host.real()).handlers(),
            slots::own,
            new CallReports(registry.events(), clock),
            new NoErrors());
    private final InnerRequests inner =
            new InnerRequests(context, HandlerLookup.of(registry, registry, WORKER), StuckSettings.DEFAULT, 0, false);
    private final StuckSettings settings = new StuckSettings(AFTER.toNanos(), WITHOUT_DEADLINE.toNanos(), 100);
    private final WorkerCounters counters = new WorkerCounters();
    private final OpenRequests open = new OpenRequests();
    private final DeferredResponseWatch watch =
            new DeferredResponseWatch(open, settings, new StuckCalls(settings, registry, counters), clock);
    private final Incoming request = new Incoming();
    private final Exchange exchange = new Exchange(context, inner, request, request);
    private HandlerRegistry.Registration registration;
    private HandlerEntry entry;
    private LateResponse late;
    private Runnable inHandler = () -> {};
    private long number;

    @BeforeEach
    void publish() {
        registration = registry.add(new HandlerSpec(
                List.of(new HandlerKey.OfType(TYPE)),
                (message, outbox) -> {
                    late = outbox.later();
                    inHandler.run();
                },
                false,
                ACME,
                0,
                getClass().getClassLoader(),
                executor));
        entry = registration.entries().get(0);
        OpenedRequests.add(open, exchange);
    }

    @AfterEach
    void endThreads() {
        executor.close(Duration.ofSeconds(20));
    }

    /** Gives a request to the handler, which returns without its response. */
    private void defer(long deadlineNs) {
        request.deadlineNs = deadlineNs;
        assertThat(exchange.openInterception()).isTrue();
        assertThat(entry.begin()).isTrue();
        exchange.admit(entry, ++number);
        exchange.call(slots.own());
    }

    private long inTime() {
        return clock.bootNs() + TIMEOUT.toNanos();
    }

    private void lookAfter(Duration passed) {
        clock.advance(passed);
        watch.look();
    }

    private void areStuck(String when, int expected) {
        assertThat(registry.statuses().get(0).stuck())
                .as("responses that are counted as stuck %s", when)
                .isEqualTo(expected);
    }

    private void outcomesAre(String when, String... expected) {
        assertThat(request.outcomes).as("outcomes %s", when).containsExactly(expected);
    }

    @Test
    void aResponseIsStuckLongAfterItsDeadlineAndItsRequestEnds() {
        defer(inTime());
        watch.look();
        lookAfter(TIMEOUT);
        lookAfter(AFTER.minusNanos(1));
        areStuck("shortly before the limit", 0);
        outcomesAre("shortly before the limit");
        clock.advance(Duration.ofSeconds(1));
        watch.look();
        areStuck("at the limit", 1);
        outcomesAre("at the limit", "TIMED_OUT");
        lookAfter(AFTER);
        areStuck("later", 1);
        assertThat(counters.requestsStuck()).as("how often it was counted").isEqualTo(1);
        late.send(Value.of("too late"));
        lookAfter(AFTER);
        areStuck("after it was given", 0);
        outcomesAre("after it was given", "TIMED_OUT");
    }

    @Test
    void aResponseWithoutADeadlineIsStuckAfterATimeOfItsOwnAndItsRequestStaysOpen() {
        defer(0);
        watch.look();
        lookAfter(WITHOUT_DEADLINE.minusNanos(1));
        areStuck("shortly before the limit", 0);
        clock.advance(Duration.ofSeconds(1));
        watch.look();
        areStuck("at the limit", 1);
        lookAfter(WITHOUT_DEADLINE);
        lookAfter(WITHOUT_DEADLINE);
        assertThat(counters.requestsStuck()).as("how often it was counted").isEqualTo(1);
        outcomesAre("while its caller waits");
        late.send(Value.of("at last"));
        outcomesAre("after it was given", "response");
        lookAfter(AFTER);
        areStuck("after it was given", 0);
    }

    @Test
    void aResponseThatIsGivenInTimeIsNeverStuck() {
        defer(inTime());
        watch.look();
        late.send(Value.of("in time"));
        lookAfter(TIMEOUT.plus(AFTER));
        areStuck("after it was given", 0);
        outcomesAre("after it was given", "response");
    }

    @Test
    void aHandlerThatStillRunsHasNoDeferredResponse() {
        inHandler = () -> {
            watch.look();
            lookAfter(TIMEOUT.plus(AFTER).plus(AFTER));
            areStuck("while its handler runs", 0);
            outcomesAre("while its handler runs");
        };
        defer(inTime());
        assertThat(request.outcomes).as("outcomes after it returned").isEmpty();
    }

    @Test
    void theNextResponseOfTheSameRequestObjectHasItsOwnTime() {
        for (int i = 0; i < 3; i++) {
            defer(0);
            watch.look();
            lookAfter(WITHOUT_DEADLINE.dividedBy(2));
            late.send(Value.of("on"));
        }
        assertThat(counters.requestsStuck()).as("responses that were stuck").isZero();
        outcomesAre("in the end", "response", "response", "response");
    }

    @Test
    void anExpiredResponseGetsNoMoreTimeWhenTheWorkerLeaves() {
        defer(inTime());
        watch.leave();
        lookAfter(TIMEOUT.minusNanos(1));
        outcomesAre("before the deadline");
        clock.advance(Duration.ofSeconds(1));
        watch.look();
        outcomesAre("at the deadline", "TIMED_OUT");
        areStuck("without a caller", 0);
    }

    @Test
    void aResponseWithoutADeadlineIsAwaitedWhileTheWorkerLeaves() {
        defer(0);
        watch.leave();
        lookAfter(AFTER);
        outcomesAre("while the drain limit has not passed");
    }

    @Test
    void anExpiredResponseGetsNoMoreTimeWhenItsHandlerLeaves() {
        defer(inTime());
        registry.takeOut(List.of(registration));
        lookAfter(TIMEOUT.minusNanos(1));
        outcomesAre("before the deadline");
        clock.advance(Duration.ofSeconds(1));
        watch.look();
        outcomesAre("at the deadline", "TIMED_OUT");
    }

    @Test
    void noResponseGetsMoreTimeWhenTheDrainLimitOfItsHandlerHasPassed() {
        defer(0);
        assertThat(registration.withdraw(Duration.ZERO).stillRunning())
                .as("requests in flight at the end of the drain")
                .isEqualTo(1);
        watch.look();
        outcomesAre("after the drain limit", "HANDLER_STUCK");
        areStuck("after the drain limit", 0);
        late.send(Value.of("too late"));
        outcomesAre("after a late response", "HANDLER_STUCK");
    }

    private static final class NoErrors implements HandlerErrors {

        @Override
        public void threw(HandlerEntry by, RequestSource of, Throwable error) {
            throw new AssertionError("the handler of this test threw", error);
        }

        @Override
        public void noResponse(HandlerEntry by) {
            throw new AssertionError("the handler of this test defers its response");
        }

        @Override
        public void notReleased(HandlerEntry by, Throwable error) {
            throw new AssertionError("a response of this test was not released", error);
        }
    }

    /** A request that notes its outcomes. */
    private static final class Incoming implements RequestSource, ResponseSink {

        private final RecordView view = new RecordView(
                new MessageBuffer().begin(TYPE, 1, 3, WORKER, 0, 0).flags(0));
        private final InboundMessage message = new InboundMessage(view, deadline -> deadline, () -> "caller");
        private final List<String> outcomes = new ArrayList<>();
        private long deadlineNs;

        @Override
        public boolean respond(OutgoingResponse composed, Failure failed, boolean returned) {
            outcomes.add(failed == null ? "response" : failed.code().name());
            return failed == null;
        }

        @Override
        public void ended(boolean reusable, boolean returned) {}

        @Override
        public void detached() {}

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
            return CallContext.EMPTY;
        }

        @Override
        public HandlerServices services() {
            throw new UnsupportedOperationException("the handler of this test makes no calls");
        }

        @Override
        public boolean movesOn() {
            return false;
        }

        @Override
        public InboundMessage open(HandlerEntry by) {
            message.open(by.key(), Delivered.FIRST, List.of());
            return message;
        }

        @Override
        public Failure damage() {
            return null;
        }

        @Override
        public void giveUp() {}

        @Override
        public boolean release() {
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
    }
}
