package io.waybill.exchange;

import io.waybill.api.MessageType;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.dispatch.ExecutorSettings;
import io.waybill.dispatch.HandlerEntry;
import io.waybill.dispatch.HandlerExecutor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.Provider;
import io.waybill.dispatch.StuckSettings;
import io.waybill.handling.CallReports;
import io.waybill.host.Host;
import io.waybill.host.ManualClock;
import io.waybill.host.Threads;
import io.waybill.intercept.InterceptorRegistry;
import io.waybill.intercept.Interceptors;
import io.waybill.worker.poll.HandlerSlots;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** What exchanges share, without a worker: handlers, their threads, interceptors, and a clock that the test moves. */
final class ExchangeRoom implements AutoCloseable {

    static final int WORKER = 7;
    static final Provider ACME = new Provider("acme", "1.0.0");
    static final Duration PARKING = Duration.ofSeconds(60);

    final ManualClock clock = new ManualClock();
    final HandlerRegistry registry;
    final HandlerRegistry own;
    final HandlerExecutor executor;
    final HandlerSlots slots;
    final Interceptors<HandlerInterceptor> interceptors = new InterceptorRegistry(Host.real()).handlers();
    final ExchangeContext context;
    final HandlerLookup lookup;
    final InnerRequests inner;

    /** What handlers did wrong. */
    final List<String> errors = new CopyOnWriteArrayList<>();

    private final List<HandlerExecutor> executors = new ArrayList<>();

    ExchangeRoom(Threads threads) {
        ParkingSettings parking = new ParkingSettings(3, PARKING.toNanos());
        registry = new HandlerRegistry(parking, threads, clock);
        own = new HandlerRegistry(parking, threads, clock);
        executor = newExecutor(ACME);
        slots = new HandlerSlots(threads);
        context = new ExchangeContext(
                WORKER,
                clock,
                threads,
                interceptors,
                slots::own,
                new CallReports(registry.events(), clock),
                new Errors());
        lookup = HandlerLookup.of(registry, own, WORKER);
        inner = newInner(false);
    }

    InnerRequests newInner(boolean isSequential) {
        return new InnerRequests(context, lookup, StuckSettings.DEFAULT, 0, isSequential);
    }

    HandlerExecutor newExecutor(Provider of) {
        HandlerExecutor added = registry.newExecutor(of, ExecutorSettings.forProcessors(1));
        executors.add(added);
        return added;
    }

    HandlerRegistry.Registration handle(MessageType type, MessageHandler handler) {
        return registry.add(HandlerSpec.of(new HandlerKey.OfType(type), handler, ACME, executor));
    }

    HandlerRegistry.Registration handleInline(MessageType type, MessageHandler handler) {
        HandlerKey key = new HandlerKey.OfType(type);
        return registry.add(
                new HandlerSpec(List.of(key), handler, true, ACME, 0, getClass().getClassLoader(), executor));
    }

    HandlerEntry entry(MessageType type) {
        return registry.table().forKey(new HandlerKey.OfType(type));
    }

    @Override
    public void close() {
        executors.forEach(each -> each.close(Duration.ofSeconds(30)));
    }

    private final class Errors implements HandlerErrors {

        @Override
        public void threw(HandlerEntry by, RequestSource of, Throwable error) {
            errors.add("threw " + error);
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
}
