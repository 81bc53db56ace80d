package io.waybill.autograd;

import io.waybill.api.Caller;
import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.autograd.graph.GraphWorkers;
import io.waybill.autograd.graph.PassMode;
import io.waybill.torch.NativeTensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.bytedeco.pytorch.Tensor;

/**
 * The workers of a test, in one context: tensors travel in requests and responses of real calls. What a worker sends is sent by one of its handlers, which is
 * called from where the computation is, except for the driver itself.
 *
 * <p><b>Threads.</b> One after another: the driver's, and those of handlers that it waits for.
 */
final class BrokerWorkers implements GraphWorkers {

    private static final AtomicLong LAST = new AtomicLong();
    private static final Map<Long, Step> STEPS = new ConcurrentHashMap<>();

    /** What a handler does with the tensors of its request, and responds. */
    private interface Work {
        List<Tensor> run(List<Tensor> arrived) throws RejectedMessageException;
    }

    /** A call that is in flight. */
    private final class Step {
        private final int worker;
        private final Work work;
        private volatile Throwable failure;

        Step(int worker, Work work) {
            this.worker = worker;
            this.work = work;
        }

        List<Tensor> run(List<Tensor> arrived, Caller caller) throws RejectedMessageException {
            Place before = here;
            here = new Place(worker, caller);
            try {
                return work.run(arrived);
            } catch (RuntimeException | Error e) {
                failure = e;
                throw e;
            } finally {
                here = before;
            }
        }
    }

    /** Runs steps. */
    @HandlesMessage("test.step")
    static final class Steps implements MessageHandler {

        @Override
        public void handle(Message message, Outbox outbox) throws RejectedMessageException {
            List<Tensor> result = STEPS.get(message.int64("step")).run(live(message.value("tensors")), outbox.caller());
            outbox.response().value("tensors", described(result));
        }
    }

    private record Place(int worker, Caller caller) {}

    private final TestWorkers workers;
    private final int count;
    private final long context;
    private final Random random;
    private volatile Place here;

    /** @param seed of what travels with a request, and what with a response */
    BrokerWorkers(TestWorkers workers, int count, long context, long seed) {
        this.workers = workers;
        this.count = count;
        this.context = context;
        this.random = new Random(seed);
        this.here = new Place(0, workers.worker(0));
    }

    @Override
    public int count() {
        return count;
    }

    @Override
    public List<Tensor> send(int from, int to, List<Tensor> tensors) {
        if (here.worker == to || here.worker != from && random.nextBoolean()) {
            return at(to, () -> request(from, List.of(), none -> tensors));
        }
        List<Tensor> all = new ArrayList<>();
        at(
                from,
                () -> request(to, tensors, arrived -> {
                    all.addAll(arrived);
                    return List.of();
                }));
        return all;
    }

    @Override
    public Tensor call(int from, int to, List<Tensor> arguments, Function<List<Tensor>, Tensor> function) {
        return at(from, () -> request(to, arguments, arrived -> List.of(function.apply(arrived))))
                .get(0);
    }

    /** What a worker does, and what it gets. */
    private interface There {
        List<Tensor> run();
    }

    private List<Tensor> at(int worker, There there) {
        if (here.worker == worker) {
            return there.run();
        }
        List<Tensor> all = new ArrayList<>();
        request(worker, List.of(), none -> {
            all.addAll(there.run());
            return List.of();
        });
        return all;
    }

    /** Calls a worker from where the computation is. */
    private List<Tensor> request(int to, List<Tensor> tensors, Work work) {
        Step step = new Step(to, work);
        long number = LAST.incrementAndGet();
        STEPS.put(number, step);
        Value arguments = described(tensors);
        Request request = Request.operation("worker" + to, "test.step");
        request.body().int64("step", number).value("tensors", arguments);
        try (Response response = here.caller.call(request)) {
            return live(response.value("tensors"));
        } catch (RuntimeException e) {
            if (step.failure == null) {
                throw e;
            }
            throw new AssertionError("at worker" + to, step.failure);
        } finally {
            STEPS.remove(number);
            release(arguments);
        }
    }

    @Override
    public void backward(PassMode mode, List<Tensor> roots) {
        Value described = described(roots);
        try {
            workers.autograd(0)
                    .backward(
                            context,
                            ((Value.Items) described)
                                    .values().stream().map(TestWorkers::tensor).toList(),
                            false,
                            BackwardMode.valueOf(mode.name()));
        } finally {
            release(described);
        }
    }

    @Override
    public Optional<double[]> gradient(int worker, Tensor leaf) {
        Autograd autograd = workers.autograd(worker);
        if (autograd.contexts().stream().noneMatch(each -> each.id() == context)) {
            return Optional.empty();
        }
        Value described = described(List.of(leaf));
        try (ContextGradients gradients = autograd.gradients(context)) {
            return gradients
                    .of(TestWorkers.tensor(((Value.Items) described).values().get(0)))
                    .map(TestWorkers::elements);
        } finally {
            release(described);
        }
    }

    private static Value described(List<Tensor> tensors) {
        List<NativeTensor> handles =
                tensors.stream().map(TestWorkers.NATIVES::hold).toList();
        try {
            return new Value.Items(TestWorkers.NATIVES.describe(handles));
        } catch (RejectedMessageException e) {
            throw new AssertionError(e);
        } finally {
            handles.forEach(NativeTensor::release);
        }
    }

    private static List<Tensor> live(Value values) {
        List<Tensor> tensors = new ArrayList<>();
        for (Value each : ((Value.Items) values).values()) {
            NativeTensor handle = TestWorkers.live(each);
            tensors.add(new Tensor(handle.tensor()));
            handle.release();
        }
        return tensors;
    }

    private static void release(Value value) {
        ((Value.Items) value)
                .values()
                .forEach(each -> TestWorkers.tensor(each).storage().release());
    }
}
