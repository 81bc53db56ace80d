package io.waybill.autograd;

import static io.waybill.autograd.TestWorkers.ENGINE;
import static io.waybill.autograd.TestWorkers.invocation;
import static io.waybill.autograd.TestWorkers.tensor;
import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.testing.core.Waits;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.peer.FlowLimits;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A worker that passes a pass on while as many of its calls to the next worker are in flight as may be. Its poller must not wait for room. */
@Timeout(value = 4, unit = TimeUnit.MINUTES)
class NoRoomTest {

    @TempDir
    private Path directory;

    private final Autograd[] all = new Autograd[3];
    private final CountDownLatch hold = new CountDownLatch(1);
    private Value parameter;

    /** Passes a tensor on to the last worker, which multiplies it with its parameter. */
    @HandlesMessage("test.weigh")
    private record Weigh(NoRoomTest test, int at) implements MessageHandler {

        static Request request(int to, Value tensor) {
            Request request = Request.operation("worker" + to, "test.weigh");
            request.body().value("tensor", tensor);
            return request;
        }

        @Override
        public void handle(Message message, Outbox outbox) throws RejectedMessageException {
            if (at == 2) {
                outbox.respond(ENGINE.run(invocation("aten::mul", message.value("tensor"), test.parameter)));
                return;
            }
            try (Response response = outbox.caller().call(request(at + 1, message.value("tensor")))) {
                response.tensors().forEach(tensor -> tensor.storage().retain());
                outbox.respond(response.value());
            }
        }
    }

    /** Responds when it may. */
    @HandlesMessage("test.hold")
    private record Hold(NoRoomTest test) implements MessageHandler {

        @Override
        public void handle(Message message, Outbox outbox) {
            Waits.until("it may respond", () -> test.hold.getCount() == 0);
            outbox.respond(Value.NONE);
        }
    }

    private static WorkerSettings settings(int worker) {
        WorkerSettings defaults = WorkerSettings.defaults();
        return worker != 1
                ? defaults
                : defaults.toBuilder()
                        .limits(FlowLimits.defaults().withCallsPerPeer(1))
                        .build();
    }

    /** Returns whether a thread waits until a call has ended, so that its own has room. */
    private static boolean isWaitedForRoom() {
        return Thread.getAllStackTraces().values().stream()
                .flatMap(Arrays::stream)
                .anyMatch(frame -> frame.getClassName().endsWith(".Backpressure"));
    }

    @ParameterizedTest
    @EnumSource(BackwardMode.class)
    void aPassGoesOnWhenThereIsRoom(BackwardMode mode) throws Exception {
        try (TestWorkers workers = TestWorkers.bare(
                directory.resolve("home"),
                3,
                (worker, id) -> worker.settings(settings(id))
                        .with(new Weigh(this, id))
                        .with(new Hold(this))
                        .withBroker(broker -> all[id] = new Autograd(broker, TestWorkers.NATIVES))
                        .withBroker(broker -> new ForwardRequests(all[id]))
                        .withBroker(broker -> new PassRequests(all[id]))
                        .withBroker(broker -> new BackwardRequests(all[id])))) {
            parameter = workers.leaf(new long[] {2}, 3, 4);
            Value plain = workers.leaf(false, new long[] {2}, 1, 2);
            all[0].context(context -> {
                Value product;
                try (Response response = workers.worker(0).call(Weigh.request(1, plain))) {
                    response.tensors().forEach(tensor -> tensor.storage().retain());
                    product = workers.keep(response.value());
                }
                Value loss = workers.local("aten::sum", product);
                CompletableFuture<Response> held =
                        workers.worker(1).callAsync(Request.operation("worker2", "test.hold"));
                CompletableFuture<Void> pass =
                        CompletableFuture.runAsync(() -> all[0].backward(context, List.of(tensor(loss)), false, mode));
                try {
                    Waits.until("the pass ends, or waits for room", () -> pass.isDone() || isWaitedForRoom());
                } finally {
                    hold.countDown();
                }
                pass.join();
                held.join().close();
                try (ContextGradients gradients = all[2].gradients(context)) {
                    Optional<double[]> gradient =
                            gradients.of(tensor(parameter)).map(TestWorkers::elements);
                    assertThat(gradient).as("the gradient of worker 2").isPresent();
                    assertThat(gradient.get()).containsExactly(1, 2);
                }
            });
            workers.release();
        }
    }
}
