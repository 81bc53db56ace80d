package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.IncomingResponse;
import io.waybill.api.intercept.OutgoingCall;
import io.waybill.api.metrics.LatencyHistogram;
import io.waybill.api.metrics.OperationMetrics;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.Provider;
import io.waybill.exchange.Wrapping;
import io.waybill.intercept.InterceptorSpec;
import io.waybill.testing.core.Waits;
import io.waybill.worker.metrics.OperationTable;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The figures of two workers after known calls: exact, whatever became of the calls, and nothing stays in flight. */
@Timeout(300)
class OperationFiguresTest {

    private static final int THREADS = 8;
    private static final int CALLS = 500;
    private static final int RELAYED = 800;
    private static final Duration SHORT = Duration.ofMillis(100);
    private static final OperationMetrics NONE =
            new OperationMetrics(MessageType.UNKNOWN, "", "nobody", 0, Map.of(), 0, 0, 0, 0, LatencyHistogram.EMPTY);

    @TempDir
    private Path directory;

    private final CountDownLatch hold = new CountDownLatch(1);
    private final LinkedBlockingQueue<LateResponse> deferred = new LinkedBlockingQueue<>();
    private Workers workers;
    private HandlerRegistry serving;
    private Worker caller;
    private Worker callee;

    @BeforeEach
    void join() throws Exception {
        workers = new Workers(directory);
        serving = workers.registry();
        workers.handleOnPoller(serving, "text.quick", (message, outbox) -> outbox.respond(Value.of("quick")));
        workers.handle(serving, "text.slow", (message, outbox) -> outbox.respond(Value.of("slow")));
        workers.handle(serving, "text.fail", (message, outbox) -> {
            throw new IllegalStateException("planted");
        });
        workers.handle(serving, "text.refuse", (message, outbox) -> {
            throw new RejectedMessageException(ErrorCode.REFUSED, "planted");
        });
        workers.handle(serving, "text.hold", (message, outbox) -> {
            awaitRelease();
            outbox.respond(Value.of("held"));
        });
        workers.handle(serving, "text.deferred", (message, outbox) -> deferred.add(outbox.later()));
        workers.handle(serving, "0x142", Wrapping.BLOCKING);
        callee = workers.join("callee", serving);
        HandlerRegistry own = workers.registry();
        workers.handle(own, "text.self", (message, outbox) -> outbox.respond(Value.of("self")));
        caller = workers.join("caller", own);
    }

    @AfterEach
    void leave() throws Exception {
        hold.countDown();
        workers.close();
    }

    private void awaitRelease() {
        try {
            hold.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static OperationMetrics of(OperationTable table, String operation) {
        return table.read().stream()
                .filter(each -> each.operation().equals(operation))
                .findFirst()
                .orElse(NONE);
    }

    private OperationMetrics called(String operation) {
        return of(caller.counters().called(), operation);
    }

    private OperationMetrics served(String operation) {
        return of(callee.counters().served(), operation);
    }

    private ErrorCode failure(Request request) {
        CompletableFuture<ErrorCode> code = new CompletableFuture<>();
        assertThatThrownBy(() -> caller.call(request))
                .isInstanceOfSatisfying(CallException.class, failure -> code.complete(failure.code()));
        return code.join();
    }

    private static Request to(String operation) {
        return Request.operation("callee", operation);
    }

    private void requireNothingOpen() {
        for (Worker worker : List.of(caller, callee)) {
            for (OperationTable table :
                    List.of(worker.counters().called(), worker.counters().served())) {
                for (OperationMetrics each : table.read()) {
                    assertThat(each.inFlight()).as("in flight: %s", each).isZero();
                    assertThat(each.parked()).as("parked: %s", each).isZero();
                    assertThat(each.latency().count()).isEqualTo(each.count());
                    assertThat(each.failed()).isLessThanOrEqualTo(each.count());
                }
            }
        }
    }

    /** Waits until both sides have counted so many, and checks that they agree and nothing is left. */
    private void requireBoth(String operation, long count, Map<ErrorCode, Long> errors) {
        Waits.until(
                () -> count + " of " + operation + ": " + served(operation),
                () -> served(operation).count() == count);
        OperationMetrics calls = called(operation);
        OperationMetrics requests = served(operation);
        assertThat(calls.count()).as(operation).isEqualTo(count);
        assertThat(calls.errors()).isEqualTo(errors);
        assertThat(requests.errors()).isEqualTo(errors);
        assertThat(calls.type()).isEqualTo(MessageType.NAMED_CALL);
        assertThat(calls.peer()).isEqualTo("callee");
        assertThat(requests.peer()).isEqualTo("caller");
        assertThat(calls.requestBytes()).isPositive().isEqualTo(requests.requestBytes());
        assertThat(calls.responseBytes()).isPositive().isEqualTo(requests.responseBytes());
        requireNothingOpen();
    }

    @Test
    void countsResponsesAndFailures() {
        for (int i = 0; i < 300; i++) {
            caller.call(to("text.quick")).close();
        }
        for (int i = 0; i < 200; i++) {
            caller.call(to("text.slow")).close();
        }
        for (int i = 0; i < 7; i++) {
            assertThat(failure(to("text.fail"))).isEqualTo(ErrorCode.HANDLER_FAILED);
            assertThat(failure(to("text.refuse"))).isEqualTo(ErrorCode.REFUSED);
        }
        requireBoth("text.quick", 300, Map.of());
        requireBoth("text.slow", 200, Map.of());
        requireBoth("text.fail", 7, Map.of(ErrorCode.HANDLER_FAILED, 7L));
        requireBoth("text.refuse", 7, Map.of(ErrorCode.REFUSED, 7L));
    }

    @Test
    void countsWhatManyThreadsCall() throws Exception {
        List<String> operations = List.of("text.quick", "text.slow", "text.fail");
        List<CompletableFuture<Void>> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            threads.add(CompletableFuture.runAsync(() -> callAll(operations), thread -> new Thread(thread).start()));
        }
        for (CompletableFuture<Void> each : threads) {
            each.get();
        }
        long count = THREADS * CALLS;
        requireBoth("text.quick", count, Map.of());
        requireBoth("text.slow", count, Map.of());
        requireBoth("text.fail", count, Map.of(ErrorCode.HANDLER_FAILED, count));
    }

    private void callAll(List<String> operations) {
        for (int call = 0; call < CALLS; call++) {
            for (String operation : operations) {
                caller.callAsync(to(operation))
                        .handle((response, failure) -> {
                            if (response != null) {
                                response.close();
                            }
                            return null;
                        })
                        .join();
            }
        }
    }

    @Test
    void countsACallThatTimedOutAndTheResponseThatCameLater() {
        assertThat(failure(to("text.fail"))).as("the first call of the pair").isEqualTo(ErrorCode.HANDLER_FAILED);
        assertThat(failure(to("text.hold").timeout(SHORT))).isEqualTo(ErrorCode.TIMED_OUT);
        assertThat(called("text.hold").errors()).isEqualTo(Map.of(ErrorCode.TIMED_OUT, 1L));
        assertThat(called("text.hold").latency().maxNs()).isGreaterThanOrEqualTo(SHORT.toNanos());
        assertThat(called("text.hold").inFlight()).isZero();
        assertThat(served("text.hold").inFlight()).isEqualTo(1);
        hold.countDown();
        Waits.until("it has responded", () -> served("text.hold").count() == 1);
        assertThat(served("text.hold").errors()).isEmpty();
        Waits.until("the late response was read", () -> caller.counters().lateResponses() == 1);
        assertThat(called("text.hold").count()).isEqualTo(1);
        requireNothingOpen();
    }

    @Test
    void measuresFromTheRequestToTheResponse() {
        CompletableFuture<Response> call = caller.callAsync(to("text.hold"));
        Waits.until("it is in flight", () -> served("text.hold").inFlight() == 1);
        assertThat(called("text.hold").inFlight()).isEqualTo(1);
        long beganNs = workers.host.clock().monotonicNs();
        Waits.until("time passes", () -> workers.host.clock().monotonicNs() - beganNs > SHORT.toNanos());
        long heldNs = workers.host.clock().monotonicNs() - beganNs;
        hold.countDown();
        call.join().close();
        requireBoth("text.hold", 1, Map.of());
        assertThat(served("text.hold").latency().maxNs()).isGreaterThanOrEqualTo(heldNs);
        assertThat(called("text.hold").latency().maxNs())
                .isGreaterThanOrEqualTo(served("text.hold").latency().maxNs());
        assertThat(called("text.hold").latency().sumNs())
                .isEqualTo(called("text.hold").latency().maxNs());
    }

    @Test
    void countsParkedRequests() {
        HandlerRegistry.Registration late = workers.handle(serving, "text.late", (message, outbox) -> {});
        late.withdraw(Duration.ofSeconds(1));
        List<CompletableFuture<Response>> waiting = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            waiting.add(caller.callAsync(to("text.late")));
        }
        Waits.until("five are parked", () -> served("text.late").parked() == 5);
        Waits.until("none is in flight", () -> served("text.late").inFlight() == 0);
        assertThat(called("text.late").inFlight()).isEqualTo(5);
        workers.handle(serving, "text.late", (message, outbox) -> outbox.respond(Value.of("late")));
        waiting.forEach(each -> each.join().close());
        requireBoth("text.late", 5, Map.of());
    }

    @Test
    void goesOnCountingWhileAHandlerIsReplacedWhoseCallsAreInFlight() throws Exception {
        MessageHandler relay = (message, outbox) -> {
            try (Response inner = outbox.caller().call(Request.operation("caller", "text.self"))) {
                outbox.respond(inner.value());
            }
        };
        HandlerRegistry.Registration current = workers.handle(serving, "text.relay", relay);
        List<CompletableFuture<Void>> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            threads.add(CompletableFuture.runAsync(() -> relayAll(RELAYED / 4), run -> new Thread(run).start()));
        }
        for (int replaced = 0; replaced < 10; replaced++) {
            long before = served("text.relay").count();
            Waits.until(
                    "calls are served, or all were",
                    () -> served("text.relay").count() > before
                            || served("text.relay").count() == RELAYED);
            current.withdraw(Duration.ofMinutes(2));
            current = workers.handle(serving, "text.relay", relay);
        }
        for (CompletableFuture<Void> each : threads) {
            each.get();
        }
        requireBoth("text.relay", RELAYED, Map.of());
        assertThat(of(callee.counters().called(), "text.self").count())
                .as("calls of the handlers")
                .isEqualTo(RELAYED);
        assertThat(of(caller.counters().served(), "text.self").count()).isEqualTo(RELAYED);
    }

    private void relayAll(int calls) {
        for (int i = 0; i < calls; i++) {
            caller.call(to("text.relay").timeout(Duration.ofMinutes(2))).close();
        }
    }

    @Test
    void countsRequestsForNoHandlerWithoutTheirNames() {
        for (int i = 0; i < 20; i++) {
            assertThat(failure(to("no.such" + i))).isEqualTo(ErrorCode.UNKNOWN_OPERATION);
        }
        Waits.until("all are counted", () -> served("").count() == 20);
        assertThat(served("").errors()).isEqualTo(Map.of(ErrorCode.UNKNOWN_OPERATION, 20L));
        assertThat(served("").type()).isEqualTo(MessageType.NAMED_CALL);
        assertThat(called("no.such7").errors()).isEqualTo(Map.of(ErrorCode.UNKNOWN_OPERATION, 1L));
        assertThat(callee.counters().served().read()).hasSize(1);
        requireNothingOpen();
    }

    @Test
    void countsDeferredResponses() throws Exception {
        List<CompletableFuture<Response>> calls = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            calls.add(caller.callAsync(to("text.deferred")));
        }
        for (int i = 0; i < 4; i++) {
            LateResponse late = deferred.take();
            if (i % 2 == 0) {
                late.send(Value.of("deferred"));
                late.send(Value.of("once more"));
            } else {
                late.fail(ErrorCode.REFUSED, "planted");
            }
        }
        calls.forEach(call -> call.handle((response, failure) -> {
                    if (response != null) {
                        response.close();
                    }
                    return null;
                })
                .join());
        requireBoth("text.deferred", 4, Map.of(ErrorCode.REFUSED, 2L));
    }

    @Test
    void countsAnEnvelopeAsOneRequest() {
        ByteBuffer inner = ByteBuffer.wrap(
                to("text.quick").payloadArray(), 0, to("text.quick").payloadLength());
        for (int i = 0; i < 3; i++) {
            ByteBuffer payload = Wrapping.wrap(MessageType.NAMED_CALL.code(), inner.duplicate());
            caller.call(Request.raw("callee", MessageType.userRequest(0x42), payload, List.of()))
                    .close();
        }
        Waits.until("they are counted", () -> served("").count() == 3);
        assertThat(served("").type()).isEqualTo(MessageType.userRequest(0x42));
        assertThat(called("").count()).isEqualTo(3);
        assertThat(served("text.quick")).isEqualTo(NONE);
        requireNothingOpen();
    }

    @Test
    void countsTheResponseAndNotWhatInterceptorsMakeOfIt() {
        CallInterceptor failing = new CallInterceptor() {
            @Override
            public void onRequest(OutgoingCall call) {}

            @Override
            public void onResponse(IncomingResponse response) throws RejectedMessageException {
                throw new RejectedMessageException(ErrorCode.REFUSED, "planted in the interceptor");
            }
        };
        caller.interceptors().calls().add(InterceptorSpec.ofAll(failing, new Provider("failing", "1.0.0")));
        for (int i = 0; i < 3; i++) {
            assertThat(failure(to("text.quick"))).isEqualTo(ErrorCode.REFUSED);
            assertThat(failure(to("text.fail"))).isEqualTo(ErrorCode.HANDLER_FAILED);
        }
        requireBoth("text.quick", 3, Map.of());
        requireBoth("text.fail", 3, Map.of(ErrorCode.HANDLER_FAILED, 3L));
    }

    @Test
    void countsACallToItselfOnBothSides() {
        for (int i = 0; i < 10; i++) {
            caller.call(Request.operation("caller", "text.self")).close();
        }
        for (OperationTable side :
                List.of(caller.counters().called(), caller.counters().served())) {
            assertThat(of(side, "text.self").count()).isEqualTo(10);
            assertThat(of(side, "text.self").peer()).isEqualTo("caller");
        }
        requireNothingOpen();
    }

    @Test
    void countsCallsThatEndWithTheirPeer() throws Exception {
        CompletableFuture<Response> call = caller.callAsync(to("text.hold"));
        Waits.until("it is in flight", () -> served("text.hold").inFlight() == 1);
        callee.close();
        assertThatThrownBy(call::join).hasRootCauseInstanceOf(CallException.class);
        OperationMetrics calls = called("text.hold");
        assertThat(calls.count()).isEqualTo(1);
        assertThat(calls.failed()).isEqualTo(1);
        assertThat(calls.inFlight()).isZero();
    }

    @Test
    void countsEverythingBeyondTheMaxNumberOfEntriesTogether() {
        int names = OperationTable.MAX + 100;
        for (int round = 0; round < 2; round++) {
            for (int i = 0; i < names; i++) {
                assertThat(failure(to("no.such" + i))).isEqualTo(ErrorCode.UNKNOWN_OPERATION);
            }
        }
        List<OperationMetrics> all = caller.counters().called().read();
        assertThat(all).hasSize(OperationTable.MAX + 1);
        assertThat(all.stream().mapToLong(OperationMetrics::count).sum()).isEqualTo(2L * names);
        assertThat(all).filteredOn(OperationMetrics::isOther).singleElement().satisfies(other -> {
            assertThat(other.count()).isEqualTo(200);
            assertThat(other.errors()).isEqualTo(Map.of(ErrorCode.UNKNOWN_OPERATION, 200L));
        });
        requireNothingOpen();
    }
}
