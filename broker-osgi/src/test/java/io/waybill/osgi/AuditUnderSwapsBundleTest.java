package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.api.CallException;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.context.CallContext;
import io.waybill.api.handler.MessageHandler;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.intercept.InterceptorStatus;
import io.waybill.intercept.Interceptors;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Interceptors around handlers, of two bundles with equal ranking, are updated in turn under a steady rate of calls: no request passes one that says
 * {@code @WhenAway(PARK)}, each has one outcome, and the order of the two is always the same. Each interceptor puts itself into the context of the request,
 * and the handler looks there. The rate is printed and not asserted. {@code -Dwaybill.interceptor.updates} says how many updates.
 */
@Timeout(600)
class AuditUnderSwapsBundleTest {

    private static final int CALLS_PER_S = 20_000;
    private static final int MAX_IN_FLIGHT = 2_000;
    private static final int UPDATES = Integer.getInteger("waybill.interceptor.updates", 4);
    private static final MessageType TYPE = MessageType.userRequest(0x43);
    private static final List<String> BUNDLES = List.of("org.acme.first", "org.acme.second");

    private static final String AUDIT = """
            @Component
            @InterceptsMessage("0x143")
            WHEN_AWAY
            public final class Audit implements HandlerInterceptor {
                @Override
                public void before(InterceptedMessage message, Outbox outbox) {
                    io.waybill.api.context.CallContext now = io.waybill.api.context.CallContext.current();
                    now.with("acme.audit", now.text("acme.audit").orElse("") + "NAME ").makeCurrent();
                }
            }
            """;

    @TempDir
    private Path directory;

    private final Map<String, Long> served = new ConcurrentHashMap<>(); // interceptors, how often
    private final Map<String, Long> failures = new ConcurrentHashMap<>();
    private final AtomicLong ended = new AtomicLong();
    private final Semaphore window = new Semaphore(MAX_IN_FLIGHT);
    private volatile boolean stopped; // by the test; read by the calling thread
    private BundleForge forge;
    private Workers workers;
    private HandlerRegistry serving;
    private Worker caller;
    private Worker callee;
    private TestNode node;

    @BeforeEach
    void start() throws Exception {
        forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
        workers = new Workers(directory);
        serving = workers.registry();
        caller = workers.join("caller");
        callee = workers.join("callee", serving);
        node = new TestNode(directory.resolve("node"), serving, callee.interceptors(), callee.brokers());
    }

    @AfterEach
    void stop() throws Exception {
        stopped = true;
        node.close();
        workers.close();
    }

    private Path audit(String bundle, int version, String whenAway) throws Exception {
        return forge.bundle(bundle, version + ".0.0")
                .source("Audit", AUDIT.replace("NAME", bundle).replace("WHEN_AWAY", whenAway))
                .build();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void noRequestPassesAnInterceptorThatParks(boolean isOnPoller) throws Exception {
        MessageHandler handler = (message, outbox) -> {
            served.merge(CallContext.current().text("acme.audit").orElse("none"), 1L, Long::sum);
            outbox.respond(message.payload());
        };
        if (isOnPoller) {
            workers.handleOnPoller(serving, "0x143", handler);
        } else {
            workers.handle(serving, "0x143", handler);
        }
        String park = "@WhenAway(WhenAway.PARK)";
        for (String bundle : BUNDLES.stream().sorted((a, b) -> b.compareTo(a)).toList()) { // not in their order
            node.bundles().install(audit(bundle, 1, park));
        }
        Path[][] versions = new Path[BUNDLES.size()][];
        for (int i = 0; i < BUNDLES.size(); i++) {
            versions[i] = new Path[] {audit(BUNDLES.get(i), 2, park), audit(BUNDLES.get(i), 3, park)};
        }
        CompletableFuture<Long> load = new CompletableFuture<>();
        long startNs = System.nanoTime();
        new Thread(() -> load(load), "load").start();
        for (int update = 0; update < UPDATES; update++) {
            node.bundles().update(versions[update % 2][update / 2 % 2]);
            long before = ended.get();
            Waits.until("calls go on", () -> ended.get() > before || load.isDone());
        }
        stopped = true;
        long calls = load.get(60, TimeUnit.SECONDS);
        double seconds = (System.nanoTime() - startNs) / 1e9;
        Waits.until("every call ends", () -> ended.get() >= calls);
        System.out.printf(
                "%d updates of interceptors under %d calls, %d per second; %d parked%n",
                UPDATES, calls, Math.round(calls / seconds), callee.counters().requestsParked());
        assertThat(failures).as("failed calls").isEmpty();
        // the first by name has the place next to the handler, so it is called last
        assertThat(served)
                .as("what the requests passed, in order, and how many did")
                .isEqualTo(Map.of("org.acme.second org.acme.first ", calls));
        assertThat(callee.counters().requestsParked()).isPositive();
        assertThat(serving.parkedRequests()).isZero();
        assertThat(callee.interceptors().handlers().statuses())
                .hasSize(BUNDLES.size())
                .allMatch(status -> status.inFlight() == 0 && status.failed() == 0);
    }

    @Test
    void theDefaultsAreThoseOfTheirKinds() throws Exception {
        node.bundles().install(audit("org.acme.first", 1, ""));
        node.bundles()
                .install(forge.bundle("org.acme.calls", "1.0.0")
                        .source("Calls", """
                                @Component
                                @InterceptsMessage("0x143")
                                public final class Calls implements CallInterceptor {
                                    @Override
                                    public void onRequest(OutgoingCall call) {}
                                }
                                """)
                        .build());
        callee.interceptors().handlers().replacing("org.acme.first");
        callee.interceptors().calls().replacing("org.acme.calls");
        assertThat(isHeld(callee.interceptors().handlers())).isFalse();
        assertThat(isHeld(callee.interceptors().calls())).isTrue();
    }

    private static boolean isHeld(Interceptors<?> interceptors) {
        return interceptors.statuses().stream().anyMatch(InterceptorStatus::leaving);
    }

    @Test
    void refusesAValueThatIsNone() throws Exception {
        Path jar = audit("org.acme.first", 1, "@WhenAway(\"wait\")");
        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().install(jar))
                .withMessage("an interceptor's waybill.when.away is park or pass: wait");
    }

    private void load(CompletableFuture<Long> result) {
        try {
            long intervalNs = 1_000_000_000L / CALLS_PER_S;
            long startNs = System.nanoTime();
            long number = 0;
            while (!stopped) {
                long earlyNs = startNs + number * intervalNs - System.nanoTime();
                if (earlyNs > 0) {
                    LockSupport.parkNanos(earlyNs);
                } else if (window.tryAcquire(1, TimeUnit.SECONDS)) {
                    call();
                    number++;
                }
            }
            result.complete(number);
        } catch (Throwable e) {
            result.completeExceptionally(e);
        }
    }

    private void call() {
        Request request = Request.raw("callee", TYPE, ByteBuffer.allocate(Long.BYTES), List.of());
        ResponseListener listener = new ResponseListener() {
            @Override
            public void onResponse(Response response) {
                over();
            }

            @Override
            public void onFailure(CallException failure) {
                failures.merge(failure.getMessage(), 1L, Long::sum);
                over();
            }
        };
        try {
            caller.call(request, listener);
        } catch (CallException e) {
            listener.onFailure(e);
        }
    }

    private void over() {
        window.release();
        ended.incrementAndGet();
    }
}
