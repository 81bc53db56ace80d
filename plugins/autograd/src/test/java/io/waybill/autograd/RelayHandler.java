package io.waybill.autograd;

import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.torch.NativeTensor;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorBase;
import org.bytedeco.pytorch.TensorTensorHook;

/**
 * Doubles a tensor, passes it on along a route of workers, and triples what comes back. The gradient is delayed in each worker, on its way there and back, so
 * that a pass takes a while.
 */
@HandlesMessage("test.relay")
@SuppressWarnings("try")
final class RelayHandler implements MessageHandler {

    /** What a route of one worker multiplies with. */
    static final double FACTOR = 6;

    private static final Duration TIMEOUT = Duration.ofMinutes(2);
    private static final long DELAY_NS = 1_000_000;
    private static final List<Object> HOOKS = new CopyOnWriteArrayList<>();

    private static final class Delay extends TensorTensorHook {

        Delay() {
            retainReference(); // not its scope's to free
            HOOKS.add(this); // libtorch refers to it weakly
        }

        @Override
        public TensorBase call(TensorBase gradient) {
            LockSupport.parkNanos(DELAY_NS);
            return gradient;
        }
    }

    /** Creates a request along a route, such as {@code worker1 worker2}. */
    static Request request(String route, Value tensor) {
        int end = route.indexOf(' ');
        Request request = Request.operation(end < 0 ? route : route.substring(0, end), "test.relay");
        request.body().text("route", end < 0 ? "" : route.substring(end + 1)).value("tensor", tensor);
        return request;
    }

    @Override
    public void handle(Message message, Outbox outbox) throws RejectedMessageException {
        String route = message.text("route");
        Value doubled = times(2, message.value("tensor"));
        try {
            if (route.isEmpty()) {
                respond(outbox, doubled);
                return;
            }
            try (Response response =
                    outbox.caller().call(request(route, doubled).timeout(TIMEOUT))) {
                respond(outbox, response.value("tensor"));
            }
        } finally {
            TestWorkers.tensor(doubled).storage().release();
        }
    }

    private static void respond(Outbox outbox, Value last) throws RejectedMessageException {
        outbox.response().value("tensor", times(3, last));
    }

    private static Value times(double factor, Value value) throws RejectedMessageException {
        NativeTensor handle =
                TestWorkers.NATIVES.find(TestWorkers.tensor(value)).orElseThrow();
        try (PointerScope scope = new PointerScope()) {
            Tensor product = handle.tensor().mul(new Scalar(factor));
            product.register_hook(new Delay());
            NativeTensor result = TestWorkers.NATIVES.hold(product);
            try {
                return TestWorkers.NATIVES.describe(result);
            } finally {
                result.release();
            }
        } finally {
            handle.release();
        }
    }
}
