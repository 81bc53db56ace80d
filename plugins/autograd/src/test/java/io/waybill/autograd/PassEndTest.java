package io.waybill.autograd;

import static io.waybill.autograd.TestWorkers.ENGINE;
import static io.waybill.autograd.TestWorkers.invocation;
import static io.waybill.autograd.TestWorkers.tensor;
import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Message;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.injection.InjectionSettings;
import io.waybill.worker.WorkerSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** When a backward pass has ended: not before the gradients of all workers are there. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class PassEndTest {

    private static final int WORKERS = 4;

    @TempDir
    private Path directory;

    private final Autograd[] all = new Autograd[WORKERS];
    private Value parameter;

    /** Multiplies with a parameter of the last worker of a route. */
    @HandlesMessage("test.weigh")
    private record Weigh(PassEndTest test) implements MessageHandler {

        static Request request(int from, Value tensor) {
            Request request = Request.operation("worker" + (from + 1), "test.weigh");
            request.body().int64("at", from + 1).value("tensor", tensor);
            return request;
        }

        @Override
        public void handle(Message message, Outbox outbox) throws RejectedMessageException {
            int at = (int) message.int64("at");
            if (at == WORKERS - 1) {
                outbox.respond(ENGINE.run(invocation("aten::mul", message.value("tensor"), test.parameter)));
                return;
            }
            try (Response response = outbox.caller().call(request(at, message.value("tensor")))) {
                response.tensors().forEach(tensor -> tensor.storage().retain());
                outbox.respond(response.value());
            }
        }
    }

    @ParameterizedTest
    @EnumSource(BackwardMode.class)
    void isAfterTheGradientsOfTheLastWorker(BackwardMode mode) throws Exception {
        WorkerSettings settings = WorkerSettings.builder()
                .injection(InjectionSettings.NONE.withDelay(MessageType.BACKWARD_AUTOGRAD_REQ, Duration.ofMillis(150)))
                .build();
        try (TestWorkers workers = TestWorkers.bare(
                directory.resolve("home"),
                WORKERS,
                (worker, id) -> worker.settings(settings)
                        .with(new Weigh(this))
                        .withBroker(broker -> all[id] = new Autograd(broker, TestWorkers.NATIVES))
                        .withBroker(broker -> new ForwardRequests(all[id]))
                        .withBroker(broker -> new PassRequests(all[id]))
                        .withBroker(broker -> new BackwardRequests(all[id])))) {
            parameter = workers.leaf(new long[] {2}, 3, 4);
            Value plain = workers.leaf(false, new long[] {2}, 1, 2);
            all[0].context(context -> {
                Value product;
                try (Response response = workers.worker(0).call(Weigh.request(0, plain))) {
                    response.tensors().forEach(tensor -> tensor.storage().retain());
                    product = workers.keep(response.value());
                }
                all[0].backward(context, List.of(tensor(workers.local("aten::sum", product))), false, mode);
                try (ContextGradients gradients = all[WORKERS - 1].gradients(context)) {
                    Optional<double[]> gradient =
                            gradients.of(tensor(parameter)).map(TestWorkers::elements);
                    assertThat(gradient)
                            .as("at the end of the pass, the gradient of worker 3")
                            .isPresent();
                    assertThat(gradient.get()).containsExactly(1, 2);
                }
            });
            workers.release();
        }
    }
}
