import io.waybill.api.*;
import io.waybill.api.handler.*;
import io.waybill.api.tensor.*;
import io.waybill.autograd.*;
import io.waybill.autograd.optim.*;
import io.waybill.script.ScriptEngine;
import io.waybill.torch.*;
import io.waybill.worker.*;
import java.nio.file.*;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;

/**
 * Two trainers learn to tell Fisher's irises apart; their parameters live in a parameter server, which is any node.
 * Arguments: the home, the node, the data, and the file for the loss curve.
 */
public final class Iris {
    private static final int ROUNDS = 60;
    private static final int HIDDEN = 16;
    private static final String[] SPECIES = {"setosa", "versicolor", "virginica"};

    /** Flowers: four measurements of each, and the number of its species. */
    private record Flowers(List<double[]> sizes, List<Integer> species) {
        /** Every n-th line from the k-th one on, or all others. */
        static Flowers read(Path csv, int n, int k, boolean others) throws Exception {
            Flowers flowers = new Flowers(new ArrayList<>(), new ArrayList<>());
            List<String> lines = Files.readAllLines(csv);
            for (int i = 1; i < lines.size(); i++) {
                String[] cells = lines.get(i).split(",");
                if (i % n == k != others) {
                    flowers.sizes.add(Arrays.stream(cells, 0, 4).mapToDouble(Double::parseDouble).toArray());
                    flowers.species.add(Arrays.asList(SPECIES).indexOf(cells[4]));
                }
            }
            return flowers;
        }

        /** Every second one. */
        Flowers half(int from) {
            Flowers half = new Flowers(new ArrayList<>(), new ArrayList<>());
            for (int i = from; i < species.size(); i += 2) {
                half.sizes.add(sizes.get(i));
                half.species.add(species.get(i));
            }
            return half;
        }
    }

    /** A worker that computes losses of its flowers, and gradients for the parameter server. */
    @HandlesMessage("iris.train")
    private static final class Trainer implements MessageHandler {
        private final int number;
        private final Flowers flowers;
        private final CyclicBarrier together;
        private final ScriptEngine libtorch;
        private final List<Value> results = new ArrayList<>();
        private final Worker worker;
        private Autograd autograd;

        Trainer(Path home, int number, Flowers flowers, NativeTensors natives, CyclicBarrier together) throws Exception {
            this.number = number;
            this.flowers = flowers;
            this.together = together;
            this.libtorch = new ScriptEngine(natives);
            this.worker = Waybill.connect(home, "trainer" + number)
                    .with(this)
                    .withBroker(broker -> autograd = new Autograd(broker, natives))
                    .withBroker(broker -> new ForwardRequests(autograd))
                    .withBroker(broker -> new PassRequests(autograd))
                    .withBroker(broker -> new BackwardRequests(autograd))
                    .join();
        }

        @Override
        public void handle(Message message, Outbox outbox) throws RejectedMessageException {
            List<RRef> parameters = ((Value.Items) message.value("parameters")).values().stream()
                    .map(each -> ((Value.OfRRef) each).value()).toList();
            List<Value> losses = new ArrayList<>();
            try (DistributedOptimizer optimizer = autograd.optimizer(parameters, new OptimizerSettings.Sgd(0.1, 0.9, 0, 0, false))) {
                for (int round = 0; round < ROUNDS; round++) {
                    losses.add(round(parameters, optimizer));
                }
            }
            outbox.response().value("losses", new Value.Items(losses));
        }

        /**
         * One step of gradient descent. The trainers compute with the same parameters, and update them in turn, so each
         * run gives the same bits.
         */
        private Value round(List<RRef> parameters, DistributedOptimizer optimizer) throws RejectedMessageException {
            Value[] loss = new Value[1];
            autograd.context(context -> {
                Value species = run("aten::tensor", list(flowers.species.stream().map(Value::of).toList()));
                Value value = run("aten::cross_entropy_loss", scores(flowers, parameters), species);
                autograd.backward(context, List.of(((Value.OfTensor) value).value()));
                loss[0] = run("aten::item", value);
                for (int turn = 0; turn <= 1; turn++) {
                    await();
                    if (turn == number) {
                        optimizer.step(context);
                    }
                }
                await();
            });
            release();
            return loss[0];
        }

        /** How much each flower looks like each species: a network with one hidden layer. */
        private Value scores(Flowers of, List<RRef> parameters) throws RejectedMessageException {
            List<Response> fetched = parameters.stream().map(RRef::toHere).toList();
            List<Value> p = fetched.stream().map(Response::value).toList();
            Value hidden = run("aten::tanh", run("aten::addmm", p.get(1), sizes(of), p.get(0)));
            Value scores = run("aten::addmm", p.get(3), hidden, p.get(2));
            fetched.forEach(Response::close);
            return scores;
        }

        private Value sizes(Flowers of) throws RejectedMessageException {
            List<Value> all = new ArrayList<>();
            for (double[] each : of.sizes) {
                Arrays.stream(each).forEach(size -> all.add(Value.of(size / 4 - 1)));
            }
            return run("aten::reshape", run("aten::tensor", list(all)), list(List.of(Value.of(-1), Value.of(4))));
        }

        double accuracy(Flowers of, List<RRef> parameters) throws RejectedMessageException {
            Value found = run("aten::argmax", scores(of, parameters), Value.of(1));
            Value species = run("aten::tensor", list(of.species.stream().map(Value::of).toList()));
            Value right = run("aten::item", run("aten::sum", run("aten::eq", found, species)));
            release();
            return (double) ((Value.Int) right).value() / of.species.size();
        }

        /** Draws a parameter, and creates it at the parameter server. */
        RRef parameter(String server, double scale, long seed, long... shape) throws RejectedMessageException {
            Value sizes = list(Arrays.stream(shape).mapToObj(Value::of).toList());
            Value drawn = libtorch.run(new Invocation("aten::randn", List.of(sizes), Map.of("generator", Value.of(seed))));
            results.add(drawn);
            Tensor plain = ((Value.OfTensor) run("aten::mul", drawn, Value.of(scale))).value();
            Tensor leaf = new Tensor(plain.dtype(), plain.sizes(), plain.strides(), plain.storageOffset(), true, plain.storage());
            RRef parameter = worker.rpc().remote(server, new Invocation("aten::clone", List.of(Value.of(leaf)), Map.of()));
            release();
            return parameter;
        }

        private static Value list(List<? extends Value> values) {
            return new Value.Items(List.copyOf(values));
        }

        private Value run(String operator, Value... arguments) throws RejectedMessageException {
            Value result = libtorch.run(new Invocation(operator, List.of(arguments), Map.of()));
            results.add(result);
            return result;
        }

        private void release() {
            results.forEach(each -> {
                if (each instanceof Value.OfTensor tensor) {
                    tensor.value().storage().release();
                }
            });
            results.clear();
        }

        private void await() {
            try {
                together.await(60, TimeUnit.SECONDS);
            } catch (InterruptedException | BrokenBarrierException | TimeoutException e) {
                throw new IllegalStateException("the other trainer does not come", e);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        Path home = Path.of(args[0]);
        String server = args[1];
        Path data = Path.of(args[2]);
        Flowers unseen = Flowers.read(data, 5, 0, false);
        Flowers training = Flowers.read(data, 5, 0, true);
        NativeTensors natives = new NativeTensors(new LibTorch(Path.of(System.getProperty("waybill.torch.natives")), 1));
        CyclicBarrier together = new CyclicBarrier(2);
        Trainer first = new Trainer(home, 0, training.half(0), natives, together);
        Trainer second = new Trainer(home, 1, training.half(1), natives, together);
        try (first.worker; second.worker) {
            List<RRef> parameters = List.of(
                    first.parameter(server, 0.5, 1, 4, HIDDEN), first.parameter(server, 0, 2, HIDDEN),
                    first.parameter(server, 0.25, 3, HIDDEN, 3), first.parameter(server, 0, 4, 3));
            List<CompletableFuture<Response>> calls = new ArrayList<>();
            for (Trainer each : List.of(first, second)) {
                Request request = Request.operation(each.worker.info().name(), "iris.train").timeout(Duration.ofMinutes(5));
                request.body().value("parameters", Trainer.list(parameters.stream().map(Value::of).toList()));
                calls.add(first.worker.callAsync(request));
            }
            double[] losses = new double[ROUNDS];
            for (Response response : Response.all(calls).get()) {
                List<Value> own = ((Value.Items) response.value("losses")).values();
                Arrays.setAll(losses, i -> losses[i] + ((Value.Float) own.get(i)).value() / 2);
                response.close();
            }
            Files.writeString(Path.of(args[3]), curve(losses));
            System.out.printf(Locale.ROOT, "loss %s to %s, accuracy %.3f on %d flowers that the trainers did not see%n",
                    losses[0], losses[ROUNDS - 1], first.accuracy(unseen, parameters), unseen.species.size());
            parameters.forEach(RRef::close);
        }
        first.autograd.close();
        second.autograd.close();
    }

    /** The loss over the rounds, as an SVG. */
    private static String curve(double[] losses) {
        double max = Arrays.stream(losses).max().orElseThrow();
        StringBuilder points = new StringBuilder();
        for (int i = 0; i < losses.length; i++) {
            points.append(String.format(Locale.ROOT, "%.1f,%.1f ", 50 + 540.0 * i / (losses.length - 1), 350 - 320 * losses[i] / max));
        }
        return """
                <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 620 400" font-family="sans-serif" font-size="14">
                  <path d="M50 30V350H590" fill="none" stroke="#888"/>
                  <text x="45" y="35" text-anchor="end">%.2f</text><text x="45" y="355" text-anchor="end">0</text>
                  <text x="590" y="375" text-anchor="end">%d rounds</text><text x="60" y="25">mean loss of both trainers</text>
                  <polyline points="%s" fill="none" stroke="#06c" stroke-width="2"/>
                </svg>
                """.formatted(max, losses.length, points.toString().strip());
    }
}
