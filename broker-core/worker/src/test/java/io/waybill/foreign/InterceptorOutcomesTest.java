package io.waybill.foreign;

import static io.waybill.foreign.ForeignNode.CALL;
import static io.waybill.foreign.ForeignNode.CULPRIT;
import static io.waybill.foreign.ForeignNode.REFUSED;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.handler.Outbox;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.FailedAttempt;
import io.waybill.api.intercept.HandledMessage;
import io.waybill.api.intercept.HandlerInterceptor;
import io.waybill.api.intercept.IncomingResponse;
import io.waybill.api.intercept.InterceptedCall;
import io.waybill.api.intercept.InterceptedMessage;
import io.waybill.api.intercept.OutgoingCall;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.Provider;
import io.waybill.intercept.InterceptorSpec;
import io.waybill.intercept.Interceptors;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the other interceptors of a call see when one of them hangs or releases what is not its own, and who is charged. */
@Timeout(300)
class InterceptorOutcomesTest {

    @TempDir
    private Path directory;

    private final CountDownLatch hold = new CountDownLatch(1);
    private final AtomicInteger hanging = new AtomicInteger();
    private final List<Interceptors.Registration> registrations = new ArrayList<>();
    private ForeignNode node;

    @BeforeEach
    void join() throws IOException {
        node = new ForeignNode(directory);
        node.workers.handle(node.handlers, CALL, ForeignNode::echo);
        node.workers.handle(node.handlers, REFUSED, (message, outbox) -> {
            throw new RejectedMessageException(ErrorCode.REFUSED, "as it should");
        });
    }

    @AfterEach
    void leave() throws IOException {
        hold.countDown();
        node.close();
    }

    /** Does not return, also when it is interrupted, before the test lets it. */
    private void hang() {
        hanging.incrementAndGet();
        boolean interrupted = false;
        while (hold.getCount() > 0) {
            try {
                hold.await();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Counts what it is notified of, and may hang in one method. */
    private final class Counting implements CallInterceptor {
        private final String hangsIn;
        private final AtomicInteger requests = new AtomicInteger();
        private final AtomicInteger responses = new AtomicInteger();
        private final AtomicInteger failures = new AtomicInteger();
        private volatile String attached = "";

        Counting(String hangsIn) {
            this.hangsIn = hangsIn;
        }

        @Override
        public void onRequest(OutgoingCall call) {
            call.keep();
            call.attach("mine");
            requests.incrementAndGet();
            maybeHang("onRequest");
        }

        private void maybeHang(String method) {
            if (method.equals(hangsIn)) {
                hang();
            }
        }

        @Override
        public void onAttemptFailed(FailedAttempt attempt) {
            maybeHang("onAttemptFailed");
        }

        @Override
        public void onResponse(IncomingResponse response) {
            responses.incrementAndGet();
            maybeHang("onResponse");
        }

        @Override
        public void onFailure(InterceptedCall call, CallException failure) {
            attached = call.to() + " " + call.attachment();
            failures.incrementAndGet();
        }
    }

    private void add(String provider, CallInterceptor interceptor, int ranking) {
        registrations.add(node.caller
                .interceptors()
                .calls()
                .add(new InterceptorSpec<>(
                        List.of(HandlerKey.parse(CALL), HandlerKey.parse(REFUSED)),
                        interceptor,
                        new Provider(provider, "1.0.0"),
                        ranking)));
    }

    /** A call of {@link ForeignNode#REFUSED} fails, and its interceptors decide whether it is repeated. */
    @ParameterizedTest
    @CsvSource({"onResponse, row.call", "onAttemptFailed, row.refused"})
    void notifiesTheOthersAtTheDeadlineOfACallWhoseInterceptorHangs(String method, String operation) throws Exception {
        Counting outer = new Counting("none");
        Counting inner = new Counting("none");
        Counting hangs = new Counting(method);
        add("org.acme.outer", outer, 3);
        add("org.acme.hangs", hangs, 2);
        add("org.acme.inner", inner, 1);
        ForeignNode.Outcomes outcomes = new ForeignNode.Outcomes();
        node.caller.call(Request.operation("server", operation).timeout(Duration.ofSeconds(3)), outcomes);
        Waits.until("it hangs", () -> hanging.get() == 1);
        Waits.until("the call has an outcome", () -> outcomes.count.get() == 1);
        assertThat(outcomes.last).startsWith("TIMED_OUT");
        Waits.until("the other interceptor is notified of the failure meanwhile", () -> outer.failures.get() == 1);
        assertThat(outer.attached).isEqualTo("server mine");
        node.othersAreServed(method);
        hold.countDown();
        for (Interceptors.Registration registration : registrations) {
            assertThat(registration.withdraw(Duration.ofSeconds(20)).stillRunning())
                    .as("calls that an update would wait for")
                    .isZero();
        }
        for (Counting each : List.of(outer, hangs, inner)) {
            assertThat(each.responses.get() + each.failures.get())
                    .as("notifications of the outcome, of %s interceptors", registrations.size())
                    .isEqualTo(1);
        }
        assertThat(outcomes.count.get())
                .as("outcomes of the call, after the interceptor has returned")
                .isEqualTo(1);
        node.everythingIsBack(method);
    }

    @Test
    void callsThoseBehindOneThatHangsInARequestWhenItReturns() throws Exception {
        Counting outer = new Counting("none");
        Counting hangs = new Counting("onRequest");
        Counting inner = new Counting("none");
        add("org.acme.outer", outer, 3);
        add("org.acme.hangs", hangs, 2);
        add("org.acme.inner", inner, 1);
        ForeignNode.Outcomes outcomes = new ForeignNode.Outcomes();
        Thread program = new Thread(() ->
                outcomes.call(node.caller, Request.operation("server", CALL).timeout(Duration.ofSeconds(60))));
        program.start();
        Waits.until("it hangs", () -> hanging.get() == 1);
        node.othersAreServed("onRequest");
        assertThat(inner.requests).as("calls of the one behind it").hasValue(0);
        hold.countDown();
        Waits.until("the call has an outcome", () -> outcomes.count.get() == 1);
        program.join();
        assertThat(outcomes.last).isEqualTo("a response");
        for (Interceptors.Registration registration : registrations) {
            assertThat(registration.withdraw(Duration.ofSeconds(20)).stillRunning())
                    .as("calls that an update would wait for")
                    .isZero();
        }
        for (Counting each : List.of(outer, hangs, inner)) {
            assertThat(List.of(each.requests.get(), each.responses.get(), each.failures.get()))
                    .as("requests, responses and failures")
                    .containsExactly(1, 1, 0);
        }
        node.everythingIsBack("onRequest");
        assertThat(outcomes.count).as("outcomes of the call").hasValue(1);
    }

    /** Counts its calls, and may hang in one method. */
    private final class Around implements HandlerInterceptor {
        private final String hangsIn;
        private final AtomicInteger before = new AtomicInteger();
        private final AtomicInteger after = new AtomicInteger();

        Around(String hangsIn) {
            this.hangsIn = hangsIn;
        }

        @Override
        public void before(InterceptedMessage message, Outbox outbox) {
            before.incrementAndGet();
            if (hangsIn.equals("before")) {
                hang();
            }
        }

        @Override
        public void after(HandledMessage outcome) {
            after.incrementAndGet();
            if (hangsIn.equals("after")) {
                hang();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"before", "after"})
    void endsARequestWhoseInterceptorHangsAndCallsTheOthersWhenItReturns(String method) throws Exception {
        List<Around> all = List.of(new Around("none"), new Around(method), new Around("none"));
        for (int i = 0; i < all.size(); i++) {
            registrations.add(node.server
                    .interceptors()
                    .handlers()
                    .add(new InterceptorSpec<>(
                            List.of(HandlerKey.parse(CALL)),
                            all.get(i),
                            new Provider("org.acme.around" + i, "1.0.0"),
                            all.size() - i)));
        }
        ForeignNode.Outcomes outcomes = new ForeignNode.Outcomes();
        node.caller.call(Request.operation("server", CALL).timeout(Duration.ofMillis(500)), outcomes);
        Waits.until("it hangs, or is too late", () -> hanging.get() == 1 || outcomes.count.get() == 1);
        while (hanging.get() == 0) { // a busy machine did not begin it in time
            ForeignNode.Outcomes again = new ForeignNode.Outcomes();
            node.caller.call(Request.operation("server", CALL).timeout(Duration.ofMillis(500)), again);
            Waits.until("it hangs, or is too late", () -> hanging.get() == 1 || again.count.get() == 1);
        }
        Waits.until("the call has an outcome", () -> outcomes.count.get() == 1);
        assertThat(outcomes.last).startsWith("TIMED_OUT");
        node.othersAreServed(method);
        hold.countDown();
        Waits.until(
                "each that was called before is called after",
                () -> all.stream().allMatch(each -> each.before.get() == each.after.get()));
        assertThat(all).as("calls of each interceptor").allMatch(each -> each.after.get() == 1);
        for (Interceptors.Registration registration : registrations) {
            assertThat(registration.withdraw(Duration.ofSeconds(20)).stillRunning())
                    .isZero();
        }
        node.everythingIsBack(method);
        assertThat(outcomes.count).as("outcomes of the call").hasValue(1);
    }

    /** Releases until no count is left: also those of others. */
    private static void releaseAll(Storage storage) {
        while (true) {
            try {
                storage.release();
            } catch (IllegalStateException e) {
                return;
            }
        }
    }

    @Test
    void chargesACallInterceptorThatReleasesTheTensorsOfAResponse() throws Exception {
        add(
                CULPRIT.name(),
                new CallInterceptor() {
                    @Override
                    public void onRequest(OutgoingCall call) {}

                    @Override
                    public void onResponse(IncomingResponse response) {
                        releaseAll(response.response().tensors().get(0).storage());
                    }
                },
                0);
        assertIsCharged("onResponse", node.callerHandlers.errors().of(CULPRIT.name()), true);
    }

    @ParameterizedTest
    @ValueSource(strings = {"before", "after"})
    void chargesAHandlerInterceptorThatReleasesTheTensorsOfAMessage(String method) throws Exception {
        HandlerInterceptor releasing = new HandlerInterceptor() {
            @Override
            public void before(InterceptedMessage message, Outbox outbox) {
                if (method.equals("before")) {
                    releaseAll(message.tensors().get(0).storage());
                }
            }

            @Override
            public void after(HandledMessage outcome) {
                if (method.equals("after")) {
                    releaseAll(outcome.tensors().get(0).storage());
                }
            }
        };
        registrations.add(node.server
                .interceptors()
                .handlers()
                .add(new InterceptorSpec<>(List.of(HandlerKey.parse(CALL)), releasing, CULPRIT, 0)));
        assertIsCharged(method, node.handlers.errors().of(CULPRIT.name()), false);
    }

    private void assertIsCharged(String method, long before, boolean atCaller) throws Exception {
        try {
            node.callWithTensor(CALL).get(60, TimeUnit.SECONDS).close();
            throw new AssertionError("the call has a response whose tensors are gone");
        } catch (ExecutionException e) {
            assertThatExceptionOfType(CallException.class)
                    .isThrownBy(() -> {
                        throw (CallException) e.getCause();
                    })
                    .withMessageContaining(CULPRIT.name())
                    .withMessageContaining("failed in " + method)
                    .extracting(CallException::code)
                    .isEqualTo(ErrorCode.HANDLER_FAILED);
        }
        var registry = atCaller ? node.callerHandlers : node.handlers;
        assertThat(registry.errors().of(CULPRIT.name()))
                .as("errors of the interceptor's bundle")
                .isGreaterThan(before);
        registrations.get(0).withdraw(Duration.ofSeconds(20));
        node.othersAreServed(method);
        node.everythingIsBack(method);
    }

    @Test
    void doesNotChargeAnInterceptorForATensorThatTheProgramHasReleased() {
        add(CULPRIT.name(), new Counting("none"), 0);
        long before = node.callerHandlers.errors().of(CULPRIT.name());
        Request request = Request.operation("server", CALL).timeout(Duration.ofSeconds(20));
        Storage storage = node.caller.buffers().allocate(100_000);
        request.body().tensor("t", Tensor.contiguous(DType.UINT8, new long[] {100_000}, storage));
        storage.release();
        assertThat(catchThrowable(() -> node.caller
                        .callAsync(request)
                        .thenAccept(Response::close)
                        .join()))
                .isNotNull();
        assertThat(node.callerHandlers.errors().of(CULPRIT.name())).isEqualTo(before);
        node.everythingIsBack("a tensor that was released before its call");
    }
}
