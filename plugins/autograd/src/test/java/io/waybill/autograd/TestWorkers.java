package io.waybill.autograd;

import io.waybill.api.Invocation;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Tensor;
import io.waybill.home.JoinOptions;
import io.waybill.script.ScriptCall;
import io.waybill.script.ScriptEngine;
import io.waybill.torch.LibTorch;
import io.waybill.torch.NativeTensors;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.UnaryOperator;

/** Workers in this JVM that serve operators and autograd, named worker0, worker1 and so on, and short words for what tests do with them. */
final class TestWorkers implements AutoCloseable {

    static final NativeTensors NATIVES =
            new NativeTensors(new LibTorch(Path.of(System.getProperty(LibTorch.NATIVES_PROPERTY)), 1));
    static final ScriptEngine ENGINE = new ScriptEngine(NATIVES);

    private final List<Worker> workers = new ArrayList<>();
    private final List<Autograd> autograds = new ArrayList<>();
    private final List<Value> kept = new ArrayList<>();

    static TestWorkers of(Path home, int count) throws IOException {
        return of(home, count, worker -> worker);
    }

    static TestWorkers of(Path home, int count, UnaryOperator<Waybill> more) throws IOException {
        TestWorkers all = new TestWorkers();
        for (int i = 0; i < count; i++) {
            all.join(home, i, more);
        }
        return all;
    }

    /** One worker with this id, the first one here. It does not look for contexts that are left. */
    static TestWorkers one(Path home, int id, UnaryOperator<Waybill> more) throws IOException {
        Autograd[] made = new Autograd[1];
        Waybill joining = Waybill.connect(home, "worker" + id)
                .options(JoinOptions.defaults().withId(id))
                .with(new ScriptCall(ENGINE))
                .withBroker(broker -> made[0] = new Autograd(broker, NATIVES, Duration.ofDays(1)))
                .withBroker(broker -> new ForwardRequests(made[0]))
                .withBroker(broker -> new PassRequests(made[0]))
                .withBroker(broker -> new BackwardRequests(made[0]));
        TestWorkers all = new TestWorkers();
        all.workers.add(more.apply(joining).join());
        all.autograds.add(made[0]);
        return all;
    }

    /** Workers that serve operators, and no autograd unless it is added. */
    static TestWorkers bare(Path home, int count, BiFunction<Waybill, Integer, Waybill> more) throws IOException {
        TestWorkers all = new TestWorkers();
        for (int i = 0; i < count; i++) {
            Waybill joining = Waybill.connect(home, "worker" + i)
                    .options(JoinOptions.defaults().withId(i))
                    .with(new ScriptCall(ENGINE));
            all.workers.add(more.apply(joining, i).join());
        }
        return all;
    }

    private void join(Path home, int id, UnaryOperator<Waybill> more) throws IOException {
        Autograd[] made = new Autograd[1];
        Waybill joining = Waybill.connect(home, "worker" + id)
                .options(JoinOptions.defaults().withId(id))
                .with(new ScriptCall(ENGINE))
                .withBroker(broker -> made[0] = new Autograd(broker, NATIVES))
                .withBroker(broker -> new ForwardRequests(made[0]))
                .withBroker(broker -> new PassRequests(made[0]))
                .withBroker(broker -> new BackwardRequests(made[0]))
                .withBroker(broker -> new OptimizerRequests(made[0]));
        workers.add(more.apply(joining).join());
        autograds.add(made[0]);
    }

    Worker worker(int id) {
        return workers.get(id);
    }

    Autograd autograd(int id) {
        return autograds.get(id);
    }

    /** Calls an operator on another worker. */
    Value call(int from, int to, String name, Object... arguments) {
        try (Response response = workers.get(from).rpc().rpcSync("worker" + to, invocation(name, arguments))) {
            response.tensors().forEach(tensor -> tensor.storage().retain());
            return keep(response.value());
        }
    }

    /** Runs an operator here, on live tensors. */
    Value local(String name, Object... arguments) {
        try {
            return keep(ENGINE.run(invocation(name, arguments)));
        } catch (RejectedMessageException e) {
            throw new AssertionError(e.code() + ": " + e.getMessage(), e);
        }
    }

    Value keep(Value value) {
        kept.add(value);
        return value;
    }

    static Invocation invocation(String name, Object... arguments) {
        List<Value> values = new ArrayList<>();
        for (Object argument : arguments) {
            values.add(value(argument));
        }
        return new Invocation(name, values, Map.of());
    }

    static Value value(Object argument) {
        if (argument instanceof Value value) {
            return value;
        } else if (argument instanceof Tensor tensor) {
            return Value.of(tensor);
        } else if (argument instanceof Integer number) {
            return Value.of(number.longValue());
        } else if (argument instanceof Double number) {
            return Value.of(number.doubleValue());
        } else if (argument instanceof List<?> list) {
            return new Value.Items(list.stream().map(TestWorkers::value).toList());
        }
        throw new IllegalArgumentException("no value: " + argument);
    }

    static Tensor tensor(Value value) {
        return ((Value.OfTensor) value).value();
    }

    /** A leaf of the program: a live tensor that was not computed. */
    Value leaf(long[] sizes, double... elements) {
        return leaf(true, sizes, elements);
    }

    @SuppressWarnings("try")
    Value leaf(boolean requiresGrad, long[] sizes, double... elements) {
        Value plain = local(
                "aten::reshape",
                local("aten::tensor", new Value.Items(list(elements))),
                new Value.Items(java.util.Arrays.stream(sizes)
                        .mapToObj(Value::of)
                        .map(Value.class::cast)
                        .toList()));
        if (!requiresGrad) {
            return plain;
        }
        try (org.bytedeco.javacpp.PointerScope scope = new org.bytedeco.javacpp.PointerScope()) {
            io.waybill.torch.NativeTensor handle = NATIVES.of(tensor(plain));
            org.bytedeco.pytorch.Tensor copy = handle.tensor().detach().clone();
            handle.release();
            copy.set_requires_grad(true);
            io.waybill.torch.NativeTensor leaf = NATIVES.hold(copy);
            try {
                return keep(NATIVES.describe(leaf));
            } finally {
                leaf.release();
            }
        } catch (RejectedMessageException e) {
            throw new AssertionError(e);
        }
    }

    /** A leaf with one dimension. */
    @SuppressWarnings("try")
    Value leaf(boolean isSparse, double... elements) {
        if (!isSparse) {
            return leaf(new long[] {elements.length}, elements);
        }
        try (org.bytedeco.javacpp.PointerScope scope = new org.bytedeco.javacpp.PointerScope()) {
            io.waybill.torch.NativeTensor dense =
                    NATIVES.of(tensor(leaf(false, new long[] {elements.length}, elements)));
            org.bytedeco.pytorch.Tensor sparse = dense.tensor().to_sparse();
            dense.release();
            sparse.set_requires_grad(true);
            io.waybill.torch.NativeTensor leaf = NATIVES.hold(sparse);
            try {
                return keep(NATIVES.describe(leaf));
            } finally {
                leaf.release();
            }
        } catch (RejectedMessageException e) {
            throw new AssertionError(e);
        }
    }

    /** The native side of a live tensor, dense or sparse; to be released. */
    static io.waybill.torch.NativeTensor live(Value value) {
        Tensor known = value instanceof Value.OfSparse sparse ? sparse.value().values() : tensor(value);
        return NATIVES.find(known).orElseThrow();
    }

    private static List<Value> list(double... elements) {
        List<Value> values = new ArrayList<>();
        for (double element : elements) {
            values.add(Value.of(element));
        }
        return values;
    }

    static double[] elements(Tensor tensor) {
        double[] elements = new double[(int) tensor.elementCount()];
        long[] at = new long[tensor.dimensions()];
        for (int i = 0; i < elements.length; i++) {
            long offset = tensor.storageOffset();
            for (int d = 0; d < at.length; d++) {
                offset += at[d] * tensor.stride(d);
            }
            int size = tensor.dtype().sizeBytes();
            ByteBuffer bytes = tensor.storage().bytes(offset * size, size).order(ByteOrder.nativeOrder());
            elements[i] = tensor.dtype() == DType.FLOAT64 ? bytes.getDouble(0) : bytes.getFloat(0);
            for (int d = at.length - 1; d >= 0 && ++at[d] == tensor.size(d); d--) {
                at[d] = 0;
            }
        }
        return elements;
    }

    /** Releases the tensors of the test's values. */
    void release() {
        kept.forEach(value -> {
            io.waybill.api.ValueEncoder encoder = new io.waybill.api.ValueEncoder();
            encoder.value(value);
            encoder.tensors().forEach(tensor -> tensor.storage().release());
        });
        kept.clear();
    }

    @Override
    public void close() throws IOException {
        release();
        for (Worker worker : workers) {
            worker.close();
        }
        autograds.forEach(Autograd::close);
    }
}
