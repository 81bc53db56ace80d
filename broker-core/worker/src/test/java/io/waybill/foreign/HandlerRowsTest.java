package io.waybill.foreign;

import static io.waybill.foreign.ForeignNode.CALL;
import static io.waybill.foreign.ForeignNode.CULPRIT;
import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.Value;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.api.handler.SelectivelyBlocking;
import io.waybill.api.policy.AccessPolicy;
import io.waybill.api.policy.AccessRequest;
import io.waybill.api.policy.Decision;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.AccessPolicies;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Handlers, listeners and access policies that misbehave. */
@Timeout(120)
class HandlerRowsTest {

    private static final int BYTES = 100_000; // through a segment

    @TempDir
    private static Path directory;

    private static ForeignNode node;

    @BeforeAll
    static void join() throws IOException {
        node = new ForeignNode(directory);
    }

    @AfterAll
    static void leave() throws IOException {
        node.close();
    }

    static Stream<Row> handlers() {
        return Stream.concat(
                Row.of(MessageHandler.class), Stream.of(new Row(MessageHandler.class, "handle", Misbehaviour.NULL)));
    }

    @ParameterizedTest
    @MethodSource("handlers")
    void aHandlerCostsItsOwnCallOnly(Row row) throws Exception {
        runs(row, false);
        runs(row, true);
    }

    private void runs(Row row, boolean onPoller) throws Exception {
        Culprit culprit = new Culprit(row);
        MessageHandler handler = (message, outbox) -> {
            if (culprit.in("handle", message, message, outbox) != null) {
                outbox.respond(Value.of("on"));
            }
        };
        long before = node.handlers.errors().of(CULPRIT.name());
        HandlerRegistry.Registration registration = onPoller
                ? node.workers.handleOnPoller(node.handlers, CALL, handler)
                : node.workers.handle(node.handlers, CALL, handler);
        node.run(row, culprit, CALL, new ForeignNode.Outcomes(), false);
        assertThat(registration.withdraw(Duration.ofSeconds(20)).stillRunning())
                .as("%s: requests that an update would wait for", row)
                .isZero();
        ForeignNode.isCharged(row, node.handlers, before);
        if (row.how() == Misbehaviour.NULL) {
            assertThat(node.handlers.errors().of(CULPRIT.name())).isGreaterThan(before);
        }
    }

    static Stream<Row> selecting() {
        return Row.of(SelectivelyBlocking.class);
    }

    @ParameterizedTest
    @MethodSource("selecting")
    void aHandlerThatSaysWhetherItBlocksCostsItsOwnCallOnly(Row row) throws Exception {
        for (boolean blocks : List.of(false, true)) {
            Culprit culprit = new Culprit(row);
            SelectivelyBlocking handler = new SelectivelyBlocking() {
                @Override
                public boolean blocks(Message message) {
                    return culprit.in("blocks", blocks, message);
                }

                @Override
                public void handle(Message message, Outbox outbox) {
                    culprit.in("handle", message, message, outbox);
                    outbox.respond(Value.of("on"));
                }
            };
            long before = node.handlers.errors().of(CULPRIT.name());
            HandlerRegistry.Registration registration = node.workers.handleOnPoller(node.handlers, CALL, handler);
            node.run(row, culprit, CALL, new ForeignNode.Outcomes(), false);
            assertThat(registration.withdraw(Duration.ofSeconds(20)).stillRunning())
                    .as("%s: requests that an update would wait for", row)
                    .isZero();
            ForeignNode.isCharged(row, node.handlers, before);
        }
    }

    /** Before it misbehaves it has deferred its response, and in the second run given it. */
    @ParameterizedTest
    @MethodSource("handlers")
    void aHandlerThatDeferredItsResponseCostsItsOwnCallOnly(Row row) throws Exception {
        for (boolean isGiven : List.of(false, true)) {
            Culprit culprit = new Culprit(row);
            HandlerRegistry.Registration registration = node.workers.handle(node.handlers, CALL, (message, outbox) -> {
                LateResponse late = outbox.later();
                if (isGiven) {
                    Storage storage = outbox.buffers().allocate(BYTES);
                    late.send(
                            ByteBuffer.allocate(1),
                            List.of(Tensor.contiguous(DType.UINT8, new long[] {BYTES}, storage)));
                }
                culprit.in("handle", message, message, outbox);
            });
            node.run(row, culprit, CALL, new ForeignNode.Outcomes(), false);
            assertThat(registration.withdraw(Duration.ofSeconds(20)).stillRunning())
                    .as("%s: requests that an update would wait for", row)
                    .isZero();
        }
    }

    static Stream<Row> stages() {
        return Stream.of(Misbehaviour.EXCEPTION, Misbehaviour.ERROR, Misbehaviour.UNREADABLE, Misbehaviour.HANG)
                .map(how -> new Row(CompletableFuture.class, "thenAccept", how));
    }

    @ParameterizedTest
    @MethodSource("stages")
    void aStageOfAFutureCostsItsOwnCallOnly(Row row) throws Exception {
        for (boolean isLate : List.of(false, true)) {
            Culprit culprit = new Culprit(row);
            HandlerRegistry.Registration registration = node.workers.handle(node.handlers, CALL, ForeignNode::echo);
            node.run(row, culprit, CALL, outcomesOfAFuture(culprit, isLate), false);
            registration.withdraw(Duration.ofSeconds(20));
        }
    }

    /** @param isLate whether the stage is added to a future that is complete, and runs on the program's thread */
    private static ForeignNode.Outcomes outcomesOfAFuture(Culprit culprit, boolean isLate) {
        return new ForeignNode.Outcomes() {
            @Override
            void call(Worker caller, Request request) {
                CompletableFuture<Response> future =
                        caller.callAsync(request).whenComplete((response, failure) -> count.incrementAndGet());
                while (isLate && !future.isDone()) {
                    Thread.onSpinWait(); // until the call's deadline at the latest
                }
                try {
                    future.thenAccept(response -> {
                        response.close();
                        culprit.in("thenAccept", this);
                    });
                } catch (RuntimeException | StackOverflowError e) {
                    // it ran on this thread, and CompletableFuture reads what it threw: no outcome of the call
                }
            }
        };
    }

    static Stream<Row> listeners() {
        return Row.of(ResponseListener.class);
    }

    @ParameterizedTest
    @MethodSource("listeners")
    void aListenerCostsItsOwnCallOnly(Row row) throws Exception {
        Culprit culprit = new Culprit(row);
        HandlerRegistry.Registration registration = node.workers.handle(
                node.handlers,
                CALL,
                row.method().equals("onResponse")
                        ? ForeignNode::echo
                        : (message, outbox) -> {
                            throw new RejectedMessageException(ErrorCode.REFUSED, "as it should");
                        });
        node.run(
                row,
                culprit,
                CALL,
                new ForeignNode.Outcomes() {
                    @Override
                    public void onResponse(Response response) {
                        super.onResponse(response);
                        culprit.in("onResponse", this, response);
                    }

                    @Override
                    public void onFailure(CallException failure) {
                        super.onFailure(failure);
                        culprit.in("onFailure", this);
                    }
                },
                false);
        registration.withdraw(Duration.ofSeconds(20));
    }

    static Stream<Row> policies() {
        return Row.of(AccessPolicy.class).filter(row -> row.method().equals("decide"));
    }

    /** One that hangs holds the thread that installs it, which is its bundle's: StuckStartBundleTest. */
    static Stream<Row> installedPolicies() {
        return Row.of(AccessPolicy.class)
                .filter(row -> row.method().equals("decidesControlCalls") && row.how() != Misbehaviour.HANG);
    }

    @ParameterizedTest
    @MethodSource("installedPolicies")
    void anAccessPolicyThatFailsToSayWhatItDecidesAboutIsAskedAboutAll(Row row) {
        Culprit culprit = new Culprit(row);
        long before = node.handlers.errors().of(CULPRIT.name());
        AccessPolicies.Registration policy = node.handlers.policies().add(CULPRIT, new AccessPolicy() {
            @Override
            public Decision decide(AccessRequest request) {
                return Decision.allow();
            }

            @Override
            public boolean decidesControlCalls() {
                return culprit.in("decidesControlCalls", false);
            }
        });
        try {
            assertThat(node.handlers.policies().current().forControl())
                    .as("policies that are asked about control calls")
                    .hasSize(1);
        } finally {
            policy.remove();
        }
        assertThat(node.handlers.errors().of(CULPRIT.name()))
                .as("%s: errors of its bundle", row)
                .isEqualTo(before + 1);
    }

    /** While a policy does not return, nothing is served: it is asked about everything, and there is no gap. */
    @ParameterizedTest
    @MethodSource("policies")
    void anAccessPolicyRefusesWhatItFailsOn(Row row) throws Exception {
        Culprit culprit = new Culprit(row);
        HandlerRegistry.Registration registration = node.workers.handle(node.handlers, CALL, ForeignNode::echo);
        long before = node.handlers.errors().of(CULPRIT.name());
        AccessPolicies.Registration policy = node.handlers.policies().add(CULPRIT, request -> decide(culprit, request));
        try {
            node.run(row, culprit, CALL, new ForeignNode.Outcomes(), false);
        } finally {
            policy.remove();
        }
        registration.withdraw(Duration.ofSeconds(20));
        assertThat(node.handlers.errors().of(CULPRIT.name()))
                .as("%s: errors of its bundle", row)
                .isGreaterThan(before);
    }

    private static Decision decide(Culprit culprit, AccessRequest request) {
        return request.operation().equals(CALL) ? culprit.in("decide", Decision.allow()) : Decision.allow();
    }
}
