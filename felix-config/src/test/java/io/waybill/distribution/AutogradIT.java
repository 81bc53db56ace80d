package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.distribution.Command.Result;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Distributed autograd in two nodes of the assembled distribution: a context survives the update of the bundle in both, and a command lists it. */
@Timeout(value = 10, unit = TimeUnit.MINUTES)
class AutogradIT {

    private static final Path DISTRIBUTION = Path.of(System.getProperty("waybill.test.distribution"));

    /** A command with the steps of a program that trains; what it needs from one step to the next is in {@code NativeState}. */
    private static final String ACTIVATOR = """
            c.registerService(io.waybill.api.tool.ToolCommand.class, new io.waybill.api.tool.ToolCommand() {
                private <S> S service(Class<S> type) {
                    return c.getService(c.getServiceReference(type));
                }
                @Override public io.waybill.api.tool.ToolDescription description() {
                    return io.waybill.api.tool.ToolDescription.of("steps", "Steps.").arguments("step", 1, 1);
                }
                @Override public void run(io.waybill.api.tool.ToolRun run)
                        throws io.waybill.api.tool.ToolFailedException {
                    try {
                        run.line(step(run.arguments().get(0)));
                    } catch (RejectedMessageException e) {
                        throw new io.waybill.api.tool.ToolFailedException(e.getMessage());
                    }
                }
                private String step(String step) throws RejectedMessageException {
                    io.waybill.autograd.DistAutograd autograd = service(io.waybill.autograd.DistAutograd.class);
                    io.waybill.torch.NativeTensors natives = service(io.waybill.torch.NativeTensors.class);
                    io.waybill.torch.NativeState state = service(io.waybill.torch.NativeState.class);
                    if (step.equals("forward")) {
                        return forward(autograd, natives, state);
                    }
                    io.waybill.torch.NativeState.Entry kept = state.take("steps").orElseThrow();
                    long id = ((Value.Int) kept.about()).value();
                    io.waybill.torch.NativeTensor leaf = kept.handles().get(0);
                    io.waybill.torch.NativeTensor loss = kept.handles().get(1);
                    if (step.equals("backward")) {
                        io.waybill.api.tensor.Tensor root = ((Value.OfTensor) natives.describe(loss)).value();
                        autograd.backward(id, java.util.List.of(root), true);
                        root.storage().release();
                        state.put("steps", kept);
                        try (io.waybill.autograd.ContextGradients gradients = autograd.gradients(id)) {
                            return "gradient " + gradients.of(leaf).orElseThrow().tensor().sum().item_double();
                        }
                    }
                    autograd.release(id);
                    leaf.release();
                    loss.release();
                    return "handles " + natives.liveCount();
                }
                private String forward(
                        io.waybill.autograd.DistAutograd autograd,
                        io.waybill.torch.NativeTensors natives,
                        io.waybill.torch.NativeState state) throws RejectedMessageException {
                    org.bytedeco.pytorch.Tensor ones = org.bytedeco.pytorch.global.torch.ones(3);
                    ones.set_requires_grad(true);
                    io.waybill.torch.NativeTensor leaf = natives.hold(ones);
                    Value x = natives.describe(leaf);
                    long id = autograd.open();
                    io.waybill.api.broker.Broker broker = service(io.waybill.api.broker.Broker.class);
                    try (io.waybill.api.Response response = broker.rpc().rpcSync(
                            "ps1",
                            new io.waybill.api.Invocation(
                                    "aten::mul", java.util.List.of(x, x), java.util.Map.of()))) {
                        io.waybill.torch.NativeTensor product =
                                natives.find(((Value.OfTensor) response.value()).value()).orElseThrow();
                        io.waybill.torch.NativeTensor loss = natives.hold(product.tensor().sum());
                        product.release();
                        state.put("steps", new io.waybill.torch.NativeState.Entry(
                                Value.of(id), java.util.List.of(), java.util.List.of(), java.util.List.of(leaf, loss)));
                    }
                    ((Value.OfTensor) x).value().storage().release();
                    return "context " + io.waybill.api.MessageId.text(id);
                }
            }, null);
            """;

    @TempDir
    private Path directory;

    private final Map<String, String> environment = new HashMap<>();
    private final List<Command> nodes = new ArrayList<>();

    @BeforeEach
    void startNodes() throws Exception {
        environment.putAll(Command.environment(directory));
        environment.put("WAYBILL_HOME", directory.resolve("home").toString());
        for (String name : List.of("ps0", "ps1")) {
            Command node = begin("node", "--name", name);
            nodes.add(node);
            Command.until("ready " + name, () -> {
                assertThat(node.process.isAlive()).as(node.err()).isTrue();
                return node.out().contains("ready " + name);
            });
        }
        Result installed = waybill("bundle", "install", "--node", "ps0", steps().toString());
        assertThat(installed.exitCode()).as(installed.err()).isZero();
    }

    @AfterEach
    void stop() {
        nodes.forEach(Command::close);
    }

    private Path steps() throws IOException {
        Path libraries = Files.createDirectories(directory.resolve("libraries"));
        for (String from : List.of("lib", "bundles/5", "bundles/10")) {
            try (DirectoryStream<Path> jars = Files.newDirectoryStream(DISTRIBUTION.resolve(from), "*.jar")) {
                for (Path jar : jars) {
                    Files.createSymbolicLink(libraries.resolve(jar.getFileName()), jar.toAbsolutePath());
                }
            }
        }
        return new BundleMaker(directory, libraries)
                .bundle("org.acme.steps", "steps.on")
                .start(ACTIVATOR)
                .header(
                        "Import-Package",
                        "io.waybill.api,io.waybill.api.handler,io.waybill.api.broker,io.waybill.api.tensor,"
                                + "io.waybill.api.tool,io.waybill.autograd,io.waybill.torch,org.bytedeco.pytorch,"
                                + "org.bytedeco.pytorch.global,org.bytedeco.javacpp,org.osgi.framework")
                .build();
    }

    private Command begin(String... words) throws IOException {
        List<String> all = new ArrayList<>(List.of(words));
        all.add(0, DISTRIBUTION.resolve("bin/waybill").toString());
        return Command.start(directory, environment, all);
    }

    private Result waybill(String... words) throws Exception {
        try (Command command = begin(words)) {
            return command.await();
        }
    }

    /** Runs a command that must succeed, and returns its output. */
    private String output(String... words) throws Exception {
        return waybill(words).output();
    }

    private void update(String version) throws Exception {
        Path next = directory.resolve("autograd-" + version + ".jar");
        try (DirectoryStream<Path> jars =
                Files.newDirectoryStream(DISTRIBUTION.resolve("bundles/10"), "autograd-*.jar")) {
            BundleMaker.writeOtherVersion(jars.iterator().next(), version, next);
        }
        for (String node : List.of("ps0", "ps1")) {
            output("bundle", "update", "--node", node, next.toString());
            assertThat(output("bundle", "list", "--node", node)).contains("io.waybill.autograd", version);
        }
    }

    private List<String> contexts(String node, String... more) throws Exception {
        List<String> words = new ArrayList<>(List.of("autograd", "contexts", "--node", node));
        words.addAll(List.of(more));
        return output(words.toArray(String[]::new)).lines().toList();
    }

    @Test
    void aContextSurvivesUpdatesOfTheBundle() throws Exception {
        String id = output("steps", "forward", "--node", "ps0").strip().substring("context ".length());
        for (String node : List.of("ps0", "ps1")) {
            List<String> lines = contexts(node);
            assertThat(lines.get(0).split(" +"))
                    .containsExactly("CONTEXT", "DRIVER", "SENDS", "RECEIVES", "GRADIENTS", "BYTES", "KNOWN", "BY");
            // one tensor of three floats in each direction, which is both arguments of the call
            String driver = lines.get(1).split(" +")[1];
            String other = node.equals("ps0") ? "[1]" : "[0]";
            assertThat(lines.get(1).split(" +"))
                    .startsWith(id, driver, "1", "1", "0")
                    .endsWith(other);
            assertThat(lines).hasSize(2);
            assertThat(contexts(node, "--json"))
                    .singleElement()
                    .asString()
                    .contains("\"context\":\"" + id + "\"", "\"sends\":1", "\"receives\":1", "\"bytes\":");
        }
        List<String> before = contexts("ps1");
        update("0.1.1");
        assertThat(contexts("ps1")).isEqualTo(before);
        assertThat(output("steps", "backward", "--node", "ps0")).isEqualTo("gradient 6.0\n");
        update("0.1.2");
        assertThat(output("steps", "backward", "--node", "ps0")).isEqualTo("gradient 12.0\n");
        assertThat(contexts("ps0").get(1).split(" +")[4])
                .as("leaves with a gradient")
                .isEqualTo("1");
        output("steps", "release", "--node", "ps0");
        for (String node : List.of("ps0", "ps1")) {
            Command.until("no context in " + node, () -> contexts(node).size() == 1);
        }
        Result wrong = waybill("autograd", "context", "--node", "ps0");
        assertThat(wrong.exitCode()).isNotZero();
        assertThat(wrong.err()).contains("autograd takes the word contexts");
    }
}
