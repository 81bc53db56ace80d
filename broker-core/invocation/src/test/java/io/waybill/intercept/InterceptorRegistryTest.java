package io.waybill.intercept;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageType;
import io.waybill.api.handler.Outbox;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.HandledMessage;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.api.intercept.IncomingResponse;
import io.waybill.api.intercept.InterceptedMessage;
import io.waybill.api.intercept.OutgoingCall;
import io.waybill.dispatch.Drained;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.Provider;
import io.waybill.dispatch.ProviderErrors;
import io.waybill.host.Host;
import io.waybill.host.ManualClock;
import io.waybill.host.Threads;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The two kinds of interceptors of a worker: what each is asked, whose failures are counted, and whose time it takes to leave. */
@Timeout(60)
class InterceptorRegistryTest {

    private static final Provider ACME = new Provider("acme", "1.0.0");
    private static final HandlerKey KEY = new HandlerKey.OfType(MessageType.userRequest(0x42));
    private static final byte[] NO_PAYLOAD = {};
    private static final Duration LIMIT = Duration.ofMillis(200);

    private final ProviderErrors errors = new ProviderErrors();
    private final InterceptorRegistry registry = new InterceptorRegistry(Host.real(), errors);

    /** Is both kinds at once, and takes part in what it is told to. */
    private static final class Both implements CallInterceptor, HandlerInterceptor {
        private boolean ofCalls = true;
        private boolean ofHandlers = true;

        @Override
        public boolean isInterceptingCalls() {
            return ofCalls;
        }

        @Override
        public boolean isInterceptingHandlers() {
            return ofHandlers;
        }

        @Override
        public void onRequest(OutgoingCall call) {}

        @Override
        public void before(InterceptedMessage message, Outbox outbox) {}
    }

    private static <T> InterceptorSpec<T> spec(T interceptor) {
        return new InterceptorSpec<>(List.of(KEY), interceptor, ACME, 0);
    }

    private static <T> InterceptorChain<T> chain(Interceptors<T> of) {
        return of.table().find(MessageType.userRequest(0x42), NO_PAYLOAD, 0);
    }

    @Test
    void anInterceptorOfCallsIsNotAroundHandlers() {
        registry.calls().add(spec(call -> {}));
        assertThat(registry.calls().table().isEmpty())
                .as("no interceptor is around calls")
                .isFalse();
        assertThat(registry.handlers().table().isEmpty())
                .as("no interceptor is around handlers")
                .isTrue();
        assertThat(registry.handlers().statuses())
                .as("interceptors around handlers")
                .isEmpty();
    }

    @Test
    void eachKindIsAskedWhetherItTakesPartInItsOwnMessages() {
        Both both = new Both();
        registry.calls().add(spec(both));
        registry.handlers().add(spec(both));
        both.ofCalls = false;
        assertThat(chain(registry.calls()).isIntercepting())
                .as("takes part in calls, after it declined them")
                .isFalse();
        assertThat(chain(registry.handlers()).isIntercepting())
                .as("takes part in handlers, while it declines calls")
                .isTrue();
        both.ofCalls = true;
        both.ofHandlers = false;
        assertThat(chain(registry.calls()).isIntercepting())
                .as("takes part in calls, while it declines handlers")
                .isTrue();
        assertThat(chain(registry.handlers()).isIntercepting())
                .as("takes part in handlers, after it declined them")
                .isFalse();
    }

    @Test
    void eachKindSeesOutcomesWhereItHasAMethodForThem() {
        registry.calls().add(spec(call -> {}));
        registry.handlers().add(spec((message, outbox) -> {}));
        assertThat(chain(registry.calls()).seesOutcomes())
                .as("a call interceptor of one method sees outcomes")
                .isFalse();
        assertThat(chain(registry.handlers()).seesOutcomes())
                .as("a handler interceptor of one method sees outcomes")
                .isFalse();
        registry.calls().add(spec(new CallInterceptor() {
            @Override
            public void onRequest(OutgoingCall call) {}

            @Override
            public void onResponse(IncomingResponse response) {}
        }));
        registry.handlers().add(spec(new HandlerInterceptor() {
            @Override
            public void before(InterceptedMessage message, Outbox outbox) {}

            @Override
            public void after(HandledMessage outcome) {}
        }));
        assertThat(chain(registry.calls()).seesOutcomes())
                .as("a call interceptor with onResponse sees outcomes")
                .isTrue();
        assertThat(chain(registry.handlers()).seesOutcomes())
                .as("a handler interceptor with after sees outcomes")
                .isTrue();
    }

    @Test
    void failuresOfBothKindsAreCountedForTheirProviderWhereTheWorkerCounts() {
        registry.calls().add(spec(call -> {}));
        registry.handlers().add(spec((message, outbox) -> {}));
        chain(registry.calls()).get(0).threw("onRequest", "a call", new IllegalStateException("planted"));
        assertThat(errors.of("acme")).as("failures after one around a call").isEqualTo(1);
        chain(registry.handlers()).get(0).threw("before", "a request", new IllegalStateException("planted"));
        assertThat(errors.of("acme"))
                .as("failures after one around a handler, too")
                .isEqualTo(2);
        assertThat(registry.calls().statuses().get(0).failed())
                .as("failures of the one around calls")
                .isEqualTo(1);
    }

    /** Each wait moves the injected clock on; the calls never end. */
    @Test
    void bothKindsWaitForTheirCallsOnTheInjectedClockAndThreads() {
        ManualClock clock = new ManualClock();
        AtomicInteger waits = new AtomicInteger();
        InterceptorRegistry injected =
                new InterceptorRegistry(Host.real().withClock(clock).withThreads(new Threads() {
                    @Override
                    public Thread start(String name, Runnable body) {
                        throw new AssertionError("a registry has no thread, and not " + name);
                    }

                    @Override
                    public void waitOn(Object monitor, long maxMs) {
                        waits.incrementAndGet();
                        clock.advance(LIMIT.dividedBy(4));
                    }
                }));
        Interceptors.Registration ofCalls = injected.calls().add(spec(call -> {}));
        Interceptors.Registration ofHandlers = injected.handlers().add(spec((message, outbox) -> {}));
        assertThat(chain(injected.calls()).begin()).as("a call begins").isTrue();
        assertThat(chain(injected.handlers()).begin()).as("a request begins").isTrue();
        Drained calls = ofCalls.withdraw(LIMIT);
        assertThat(calls.stillRunning()).as("calls in flight after the limit").isEqualTo(1);
        int ofTheFirst = waits.get();
        assertThat(ofTheFirst).as("waits of the thread that withdrew").isPositive();
        Drained handlers = ofHandlers.withdraw(LIMIT);
        assertThat(handlers.stillRunning())
                .as("requests in flight after the limit")
                .isEqualTo(1);
        assertThat(waits.get()).as("waits after both were withdrawn").isGreaterThan(ofTheFirst);
    }

    @Test
    void noneIsLostThatThreadsAddAtOnce() throws InterruptedException {
        int count = 8;
        int each = 50;
        CountDownLatch go = new CountDownLatch(1);
        List<Thread> adding = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            adding.add(Host.real().threads().start("adds-" + i, () -> {
                try {
                    go.await();
                } catch (InterruptedException e) {
                    return;
                }
                for (int j = 0; j < each; j++) {
                    registry.calls().add(spec(call -> {}));
                    registry.handlers().add(spec((message, outbox) -> {})).withdraw(Duration.ZERO);
                }
            }));
        }
        go.countDown();
        for (Thread thread : adding) {
            thread.join();
        }
        assertThat(chain(registry.calls()).size())
                .as("interceptors of a call, of those that stay")
                .isEqualTo(count * each);
        assertThat(registry.handlers().table().isEmpty())
                .as("no interceptor is left of those that were withdrawn")
                .isTrue();
    }
}
