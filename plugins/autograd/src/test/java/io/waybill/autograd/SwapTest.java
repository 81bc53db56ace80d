package io.waybill.autograd;

import static io.waybill.autograd.TestWorkers.elements;
import static io.waybill.autograd.TestWorkers.tensor;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.broker.Broker;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.NonBlocking;
import io.waybill.api.handler.Outbox;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.IgnoresMessage;
import io.waybill.api.intercept.IncomingResponse;
import io.waybill.api.intercept.InterceptedCall;
import io.waybill.api.intercept.InterceptsMessage;
import io.waybill.api.intercept.OutgoingCall;
import io.waybill.autograd.message.BackwardMessage;
import io.waybill.autograd.optim.DistributedOptimizer;
import io.waybill.autograd.optim.OptimizerSettings;
import io.waybill.autograd.step.OptimizerMessages;
import io.waybill.testing.core.Waits;
import io.waybill.torch.NativeState;
import io.waybill.torch.NativeTensor;
import io.waybill.worker.Waybill;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.TensorBase;
import org.bytedeco.pytorch.TensorTensorHook;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** One version of the bundle after another in both workers, as an update does it: the first leaves, then the second is activated. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class SwapTest {

    private static final Duration LOOK_PERIOD = Duration.ofMillis(500);

    @TempDir
    private Path directory;

    /** The version that is there. */
    @InterceptsMessage
    @IgnoresMessage({"BACKWARD_AUTOGRAD_REQ", "CLEANUP_AUTOGRAD_CONTEXT_REQ", "RREF_BACKWARD_REQ"})
    private static final class Versions implements CallInterceptor {

        private final NativeState state = new NativeState();
        private final Broker broker;
        private volatile Autograd version;

        Versions(Broker broker) {
            this.broker = broker;
            this.version = new Autograd(broker, TestWorkers.NATIVES, state, LOOK_PERIOD);
        }

        void swap() {
            version.leave();
            version = new Autograd(broker, TestWorkers.NATIVES, state, LOOK_PERIOD);
            assertThat(state.names("")).as("all that was kept is taken over").isEmpty();
        }

        @Override
        public void onRequest(OutgoingCall call) throws RejectedMessageException {
            version.onRequest(call);
        }

        @Override
        public void onResponse(IncomingResponse response) throws RejectedMessageException {
            version.onResponse(response);
        }

        @Override
        public void onFailure(InterceptedCall call, CallException failure) {
            version.onFailure(call, failure);
        }
    }

    @HandlesMessage({"FORWARD_AUTOGRAD_REQ", "CLEANUP_AUTOGRAD_CONTEXT_REQ"})
    @NonBlocking
    private record Forward(Versions versions) implements MessageHandler {
        @Override
        public void handle(Message message, Outbox outbox) throws Exception {
            new ForwardRequests(versions.version).handle(message, outbox);
        }
    }

    @HandlesMessage("BACKWARD_AUTOGRAD_REQ")
    @NonBlocking
    private record Pass(Versions versions) implements MessageHandler {
        @Override
        public void handle(Message message, Outbox outbox) throws Exception {
            new PassRequests(versions.version).handle(message, outbox);
        }
    }

    @HandlesMessage("RREF_BACKWARD_REQ")
    private record Backward(Versions versions) implements MessageHandler {
        @Override
        public void handle(Message message, Outbox outbox) throws Exception {
            new BackwardRequests(versions.version).handle(message, outbox);
        }
    }

    @HandlesMessage({OptimizerMessages.CREATE, OptimizerMessages.STEP, OptimizerMessages.CLOSE})
    private record Optimizers(Versions versions) implements MessageHandler {
        @Override
        public void handle(Message message, Outbox outbox) throws RejectedMessageException {
            new OptimizerRequests(versions.version).handle(message, outbox);
        }
    }

    private static TestWorkers two(Path home, Versions[] all, CallInterceptor... more) throws IOException {
        return TestWorkers.bare(
                home,
                2,
                (worker, id) -> with(worker, id == 0 ? more : new CallInterceptor[0])
                        .withBroker(broker -> all[id] = new Versions(broker))
                        .withBroker(broker -> new Forward(all[id]))
                        .withBroker(broker -> new Pass(all[id]))
                        .withBroker(broker -> new Backward(all[id]))
                        .withBroker(broker -> new Optimizers(all[id])));
    }

    private static Waybill with(Waybill worker, CallInterceptor... interceptors) {
        Waybill all = worker;
        for (CallInterceptor each : interceptors) {
            all = all.with(each);
        }
        return all;
    }

    @ParameterizedTest
    @EnumSource
    void contextsAreTakenOver(BackwardMode mode) throws Exception {
        Versions[] all = new Versions[2];
        try (TestWorkers workers = two(directory.resolve("home"), all)) {
            Value t1 = workers.leaf(new long[] {2}, 1, 2);
            Value t2 = workers.leaf(new long[] {2}, 3, 4);
            long context = all[0].version.open();
            Value product = workers.call(0, 1, "aten::mul", t1, t2);
            Value loss = workers.local("aten::sum", product);
            all[0].version.backward(context, List.of(tensor(loss)), true, mode);
            all[1].swap();
            all[0].swap();
            Value more = workers.local("aten::sum", workers.call(0, 1, "aten::mul", product, t2));
            all[1].swap();
            all[0].swap();
            all[0].version.backward(context, List.of(tensor(more), tensor(loss)), false, mode);
            try (ContextGradients gradients = all[0].version.gradients(context)) {
                assertThat(elements(gradients.of(tensor(t1)).orElseThrow())).containsExactly(3 + 9 + 3, 4 + 16 + 4);
                assertThat(gradients.entries()).hasSize(2);
            }
            assertThat(all[0].version.currentContext()).isEqualTo(context);
            all[0].version.release(context);
            for (Versions each : all) {
                Waits.until("it is released", () -> each.version.contexts().isEmpty());
            }
            assertThat(all[0].version.open()).as("the thread is free").isNotEqualTo(context);
            all[0].version.release(all[0].version.currentContext());
        }
        assertThat(TestWorkers.NATIVES.liveCount()).as("handles").isZero();
        Waits.until("bytes of messages are released", () -> TestWorkers.NATIVES.storageCount() == 0);
    }

    /** Worker 1 has passed the pass back, and is updated before the pass comes there again. */
    @Test
    @SuppressWarnings("try")
    void aPassThatComesAgainFindsTheNextVersion() throws Exception {
        Versions[] all = new Versions[2];
        try (TestWorkers workers = two(directory.resolve("home"), all)) {
            Value t1 = workers.leaf(new long[] {2}, 1, 2);
            long context = all[0].version.open();
            Value square = workers.call(0, 1, "aten::mul", t1, t1);
            TensorTensorHook hook = new TensorTensorHook() {
                @Override
                public TensorBase call(TensorBase gradient) {
                    assertThat(all[1].version.passes()).isZero();
                    all[1].swap();
                    return gradient;
                }
            };
            hook.retainReference();
            try (PointerScope scope = new PointerScope()) {
                NativeTensor live = TestWorkers.live(square);
                live.tensor().register_hook(hook);
                live.release();
            }
            Value again = workers.call(0, 1, "aten::neg", workers.local("aten::neg", square));
            Autograd first = all[1].version;
            all[0].version.backward(context, List.of(tensor(workers.local("aten::sum", again))));
            assertThat(all[1].version).isNotSameAs(first);
            try (ContextGradients gradients = all[0].version.gradients(context)) {
                assertThat(elements(gradients.of(tensor(t1)).orElseThrow())).containsExactly(2, 4);
            }
            all[0].version.release(context);
            Waits.until("it is released", () -> all[1].version.contexts().isEmpty());
        }
    }

    /** Notes the backward messages that a worker sends. */
    @InterceptsMessage("BACKWARD_AUTOGRAD_REQ")
    private static final class Sent implements CallInterceptor {
        private final List<BackwardMessage> messages = new CopyOnWriteArrayList<>();

        @Override
        public void onRequest(OutgoingCall call) throws RejectedMessageException {
            messages.add(BackwardMessage.decode(call.payload(), call.tensors()));
        }
    }

    @ParameterizedTest
    @EnumSource
    void lateMessagesOfPassesThatEndedBeforeAreRefused(BackwardMode mode) throws Exception {
        Versions[] all = new Versions[2];
        Sent sent = new Sent();
        try (TestWorkers workers = two(directory.resolve("home"), all, sent)) {
            Value t1 = workers.leaf(new long[] {2}, 1, 2);
            long context = all[0].version.open();
            Value loss = workers.local("aten::sum", workers.call(0, 1, "aten::mul", t1, t1));
            all[0].version.backward(context, List.of(tensor(loss)), true, mode);
            all[0].version.backward(context, List.of(tensor(loss)), true, mode);
            all[1].swap();
            assertThat(sent.messages).as("of two passes").hasSizeGreaterThan(1);
            for (BackwardMessage message : List.copyOf(sent.messages)) {
                Request late = Request.raw(
                        "worker1",
                        MessageType.BACKWARD_AUTOGRAD_REQ,
                        new BackwardMessage(
                                        context,
                                        message.passId(),
                                        message.messageId(),
                                        BackwardMessage.Kind.GRADIENTS,
                                        true,
                                        message.isFast(),
                                        new Value.Items(List.of(Value.NONE)))
                                .encode()
                                .payload(),
                        List.of());
                CallException refused = catchThrowableOfType(
                        CallException.class, () -> workers.worker(0).call(late));
                assertThat(refused.code()).as(refused.getMessage()).isEqualTo(ErrorCode.REFUSED);
                assertThat(refused).hasMessageContaining("has ended here");
            }
            assertThat(all[1].version.passes()).isZero();
            all[0].version.release(context);
            Waits.until("it is released", () -> all[1].version.contexts().isEmpty());
        }
    }

    @Test
    void whatIsReleasedThroughAVersionThatLeftIsReleased() throws Exception {
        Versions[] all = new Versions[2];
        try (TestWorkers workers = two(directory.resolve("home"), all)) {
            Autograd old = all[0].version;
            Value t1 = workers.leaf(new long[] {2}, 1, 2);
            long context = old.open();
            workers.call(0, 1, "aten::mul", t1, t1);
            all[0].swap();
            assertThat(all[0].version.contexts()).hasSize(1);
            for (ThrowingCallable use : List.<ThrowingCallable>of(
                    old::open,
                    old::currentContext,
                    () -> old.backward(context, List.of()),
                    () -> old.gradients(context),
                    () -> old.optimizer(List.of(), new OptimizerSettings.Sgd(0.1)))) {
                assertThatIllegalStateException().isThrownBy(use).withMessageContaining("get the service again");
            }
            old.release(context);
            assertThat(all[0].version.open())
                    .as("the thread is in no context, and not in a stale one")
                    .isNotEqualTo(context);
            all[0].version.release(all[0].version.currentContext());
            for (Versions each : all) {
                Waits.until(
                        "released by the version that has it",
                        () -> each.version.contexts().isEmpty());
            }
        }
        assertThat(TestWorkers.NATIVES.liveCount()).as("handles").isZero();
        Waits.until("bytes of messages are released", () -> TestWorkers.NATIVES.storageCount() == 0);
    }

    @Test
    void anOptimizerOfAVersionThatLeftSaysWhatToDo() throws Exception {
        Versions[] all = new Versions[2];
        try (TestWorkers workers = two(directory.resolve("home"), all)) {
            Value initial = workers.leaf(new long[] {2}, 1, -2);
            try (RRef parameter =
                    workers.worker(0).rpc().remote("worker1", TestWorkers.invocation("aten::clone", initial))) {
                DistributedOptimizer optimizer =
                        all[0].version.optimizer(List.of(parameter), new OptimizerSettings.Adam(0.1));
                all[0].swap();
                all[0].version.context(context -> assertThatIllegalStateException()
                        .isThrownBy(() -> optimizer.step(context))
                        .withMessageContaining("create another one with DistAutograd.optimizer"));
                optimizer.close();
                Waits.until(
                        "its parts are given up",
                        () -> all[1].version.optimizers().count() == 0);
            }
        }
    }

    @Test
    void optimizersGoOnWithTheirState() throws Exception {
        Versions[] all = new Versions[2];
        try (TestWorkers workers = two(directory.resolve("home"), all)) {
            assertThat(trained(workers, all, true)).containsExactly(trained(workers, all, false));
            assertThat(all[1].version.optimizers().count()).isZero();
            Waits.until("contexts are released", () -> all[1].version.contexts().isEmpty());
        }
        assertThat(TestWorkers.NATIVES.liveCount()).as("handles").isZero();
        Waits.until("bytes of messages are released", () -> TestWorkers.NATIVES.storageCount() == 0);
    }

    /** Six steps of Adam, whose averages depend on all of them. */
    private static double[] trained(TestWorkers workers, Versions[] all, boolean isSwapped) {
        Value initial = workers.leaf(new long[] {2}, 1, -2);
        try (RRef parameter =
                        workers.worker(0).rpc().remote("worker1", TestWorkers.invocation("aten::clone", initial));
                DistributedOptimizer optimizer =
                        all[0].version.optimizer(List.of(parameter), new OptimizerSettings.Adam(0.1))) {
            for (int i = 0; i < 6; i++) {
                // an update waits for requests that run, and this one does not
                Waits.until("no release runs", () -> all[1].version.contexts().isEmpty());
                if (isSwapped) {
                    all[1].swap();
                }
                all[0].version.context(context -> {
                    try (Response here = parameter.toHere()) {
                        Value square = workers.local("aten::mul", here.value(), here.value());
                        all[0].version.backward(context, List.of(tensor(workers.local("aten::sum", square))));
                    }
                    if (isSwapped) {
                        all[1].swap();
                    }
                    assertThat(optimizer.step(context)).isEqualTo(1);
                });
            }
            try (Response here = parameter.toHere()) {
                return elements(tensor(here.value()));
            }
        } finally {
            workers.release();
        }
    }
}
