package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A user's bundle in two nodes of the distribution gets {@code DistAutograd} by {@code @Reference}, and trains with it between updates of the autograd bundle. */
@Tag("ci")
@Timeout(value = 15, unit = TimeUnit.MINUTES)
class AutogradUpdateIT {

    private static final Path DISTRIBUTION = Path.of(System.getProperty("waybill.test.distribution"));
    private static final List<String> NODES = List.of("ps0", "ps1");
    private static final int THREADS = 4;
    private static final int UPDATES = 4; // of each node

    /** What the user's component does; {@code what} says which part. */
    private static final String WORK = """
            try (org.bytedeco.javacpp.PointerScope scope = new org.bytedeco.javacpp.PointerScope()) {
                String what = message.text("what");
                if (what.equals("double")) {
                    outbox.response().value("tensor", doubled(message.value("tensor")));
                } else {
                    outbox.response().text("result", switch (what) {
                        case "step" -> step(outbox);
                        case "create" -> create(outbox);
                        case "train" -> train();
                        case "close" -> close();
                        case "gc" -> gc();
                        default -> String.valueOf(natives.liveCount());
                    });
                }
            } catch (RejectedMessageException e) {
                throw new IllegalStateException(e);
            }
            """;

    private static final String MEMBERS = """
            private static io.waybill.api.tensor.Tensor tensor(Value value) {
                return ((Value.OfTensor) value).value();
            }
            private Value described(org.bytedeco.pytorch.Tensor tensor) throws RejectedMessageException {
                io.waybill.torch.NativeTensor handle = natives.hold(tensor);
                try {
                    return natives.describe(handle);
                } finally {
                    handle.release();
                }
            }
            private org.bytedeco.pytorch.Tensor live(Value value) {
                io.waybill.torch.NativeTensor handle = natives.find(tensor(value)).orElseThrow();
                try {
                    return new org.bytedeco.pytorch.Tensor(handle.tensor());
                } finally {
                    handle.release();
                }
            }
            private Value doubled(Value argument) throws RejectedMessageException {
                org.bytedeco.pytorch.Tensor doubled = live(argument).mul(new org.bytedeco.pytorch.Scalar(2));
                return described(doubled);
            }
            private void backward(long id, org.bytedeco.pytorch.Tensor loss) throws RejectedMessageException {
                Value root = described(loss);
                try {
                    autograd.backward(id, java.util.List.of(tensor(root)));
                } finally {
                    tensor(root).storage().release();
                }
            }
            private static org.bytedeco.pytorch.Tensor leaf() {
                org.bytedeco.pytorch.Tensor leaf = org.bytedeco.pytorch.global.torch.ones(3);
                leaf.set_requires_grad(true);
                return leaf;
            }
            private static Response called(Outbox outbox, Value tensor) {
                Request request = Request.operation("ps1", "acme.work");
                request.body().text("what", "double").value("tensor", tensor);
                return outbox.caller().call(request);
            }
            private static String gc() {
                System.gc();
                return "collected";
            }
            private String step(Outbox outbox) throws RejectedMessageException {
                Value x = described(leaf());
                long id = autograd.open();
                try {
                    try (Response once = called(outbox, x);
                            Response twice = called(outbox, once.value("tensor"));
                            Response response = called(outbox, twice.value("tensor"))) {
                        backward(id, live(response.value("tensor")).sum());
                    }
                    try (io.waybill.autograd.ContextGradients gradients = autograd.gradients(id)) {
                        io.waybill.torch.NativeTensor leaf = natives.find(tensor(x)).orElseThrow();
                        try {
                            return "gradient " + gradients.of(leaf).orElseThrow().tensor().sum().item_double();
                        } finally {
                            leaf.release();
                        }
                    }
                } catch (CallException e) {
                    return e.code() + " " + e.getMessage();
                } finally {
                    autograd.release(id);
                    tensor(x).storage().release();
                }
            }

            private RRef parameter;
            private io.waybill.autograd.optim.DistributedOptimizer optimizer;
            private String create(Outbox outbox) throws RejectedMessageException {
                Value initial = described(leaf());
                parameter = broker.rpc().remote(
                        "ps1", new Invocation("aten::clone", java.util.List.of(initial), java.util.Map.of()));
                tensor(initial).storage().release();
                optimizer = autograd.optimizer(
                        java.util.List.of(parameter), new io.waybill.autograd.optim.OptimizerSettings.Adam(0.1));
                return "created";
            }
            private String train() throws RejectedMessageException {
                long id = autograd.open();
                try (Response here = parameter.toHere()) {
                    org.bytedeco.pytorch.Tensor value = live(here.value());
                    backward(id, value.mul(value).sum());
                    return optimizer.step(id) + " from " + value.sum().item_double();
                } finally {
                    autograd.release(id);
                }
            }
            private String close() {
                optimizer.close();
                parameter.close();
                return "closed";
            }
            """;

    @TempDir
    private Path directory;

    private Map<String, String> environment;
    private final List<Command> commands = new ArrayList<>();

    @BeforeEach
    void startNodes() throws Exception {
        environment = new HashMap<>(Command.environment(directory));
        environment.put("WAYBILL_HOME", directory.resolve("home").toString());
        for (String name : NODES) {
            Command node = begin("node", "--name", name);
            Command.until("ready " + name, () -> {
                assertThat(node.process.isAlive()).as(node.err()).isTrue();
                return node.out().contains("ready " + name);
            });
        }
        libraries();
        installWork();
    }

    /** Installs a user's bundle in both nodes. */
    private void installWork() throws Exception {
        Path work = new BundleMaker(directory, directory.resolve("libraries"))
                .bundle("org.acme.work", "acme.work")
                .reference("io.waybill.autograd.DistAutograd", "autograd")
                .reference("io.waybill.torch.NativeTensors", "natives")
                .reference("io.waybill.api.broker.Broker", "broker")
                .members(MEMBERS)
                .body(WORK)
                .header(
                        "Import-Package",
                        "io.waybill.api,io.waybill.api.handler,io.waybill.api.broker,io.waybill.api.tensor,"
                                + "io.waybill.autograd,io.waybill.autograd.optim,io.waybill.torch,org.bytedeco.pytorch,"
                                + "org.bytedeco.pytorch.global,org.bytedeco.javacpp")
                .build();
        for (String name : NODES) {
            output("bundle", "install", "--node", name, work.toString());
        }
    }

    @AfterEach
    void stop() {
        commands.forEach(Command::close);
    }

    private void libraries() throws IOException {
        Path libraries = Files.createDirectories(directory.resolve("libraries"));
        for (String from : List.of("lib", "bundles/5", "bundles/10")) {
            try (DirectoryStream<Path> jars = Files.newDirectoryStream(DISTRIBUTION.resolve(from), "*.jar")) {
                for (Path jar : jars) {
                    Files.createSymbolicLink(libraries.resolve(jar.getFileName()), jar.toAbsolutePath());
                }
            }
        }
    }

    private Command begin(String... words) throws IOException {
        List<String> all = new ArrayList<>(List.of(words));
        all.add(0, DISTRIBUTION.resolve("bin/waybill").toString());
        Command command = Command.start(directory, environment, all);
        commands.add(command);
        return command;
    }

    private String output(String... words) throws Exception {
        return begin(words).await(180).output();
    }

    private void update(String node, String version) throws Exception {
        Path next = directory.resolve("autograd-" + version + ".jar");
        try (DirectoryStream<Path> jars =
                Files.newDirectoryStream(DISTRIBUTION.resolve("bundles/10"), "autograd-*.jar")) {
            BundleMaker.writeOtherVersion(jars.iterator().next(), version, next);
        }
        output("bundle", "update", "--node", node, next.toString());
        assertThat(output("bundle", "list", "--node", node)).contains("io.waybill.autograd", version);
    }

    private String work(String what) throws Exception {
        return output("call", "--to", "ps0", "acme.work", "what=" + what).strip();
    }

    private void awaitNothing() throws Exception {
        for (String node : NODES) {
            Command.until(
                    "no context in " + node,
                    () -> output("autograd", "contexts", "--node", node).lines().count() == 1);
            Command.until(
                    "no handle in " + node,
                    () -> output("call", "--to", node, "acme.work", "what=handles")
                            .strip()
                            .equals("{'result': '0'}"));
        }
    }

    @Test
    void anOptimizerGoesOnWhileItsOwnerIsUpdated() throws Exception {
        List<String> undisturbed = trained(false);
        assertThat(trained(true)).isEqualTo(undisturbed);
        assertThat(undisturbed).doesNotHaveDuplicates();
        update("ps0", "0.1.9"); // restarts the component
        assertThat(work("step")).isEqualTo("{'result': 'gradient 24.0'}");
        awaitNothing();
    }

    @Test
    void stepsGoOnWhileTheBundleIsUpdatedInBothNodes() throws Exception {
        AtomicBoolean stopped = new AtomicBoolean();
        AtomicLong steps = new AtomicLong();
        try (Worker driver =
                Waybill.connect(directory.resolve("home"), "driver").join()) {
            List<CompletableFuture<Void>> training = IntStream.range(0, THREADS)
                    .mapToObj(each -> CompletableFuture.runAsync(() -> {
                        while (!stopped.get()) {
                            Request request = Request.operation("ps0", "acme.work");
                            request.body().text("what", "step");
                            try (Response response = driver.call(request.timeout(Duration.ofMinutes(5)))) {
                                assertThat(response.text("result")).isEqualTo("gradient 24.0");
                            }
                            steps.incrementAndGet();
                        }
                    }))
                    .toList();
            for (int i = 1; i <= UPDATES; i++) {
                for (String node : NODES) {
                    update(node, "0.1." + (100 + i));
                    long before = steps.get();
                    Command.until(
                            "steps go on",
                            () -> steps.get() > before + THREADS
                                    || training.stream().anyMatch(CompletableFuture::isDone));
                }
            }
            stopped.set(true);
            for (CompletableFuture<Void> each : training) {
                each.get(5, TimeUnit.MINUTES);
            }
        }
        System.out.println(steps + " steps during " + 2 * UPDATES + " updates");
        awaitNothing();
        for (String node : NODES) {
            Command.until("the old class loaders of " + node + " are unreachable", () -> {
                output("call", "--to", node, "acme.work", "what=gc");
                return output("call", "--to", node, "control:loaders.leaked", "seconds:=0")
                        .strip()
                        .equals("{'loaders': []}");
            });
        }
    }

    private List<String> trained(boolean isUpdated) throws Exception {
        assertThat(work("create")).isEqualTo("{'result': 'created'}");
        List<String> steps = new ArrayList<>();
        for (int i = 1; i <= 4; i++) {
            if (isUpdated && i % 2 == 0) {
                update("ps1", "0.1." + i);
            }
            steps.add(work("train"));
            assertThat(steps.get(i - 1)).startsWith("{'result': '1 from ");
        }
        assertThat(work("close")).isEqualTo("{'result': 'closed'}");
        return steps;
    }
}
