package io.waybill.script;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Script;
import io.waybill.api.Value;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.testing.core.RecordingOutbox;
import io.waybill.testing.core.TestMessage;
import java.io.IOException;
import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import org.apache.felix.framework.FrameworkFactory;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.Constants;
import org.osgi.framework.ServiceReference;
import org.osgi.framework.ServiceRegistration;
import org.osgi.framework.launch.Framework;

/**
 * The built jars in a framework with nothing but declarative services. One framework for all tests that load libtorch, because its native
 * libraries load once per process.
 */
@Timeout(value = 3, unit = TimeUnit.MINUTES)
class ScriptOpsBundleTest {

    private static final long WAIT_NS = TimeUnit.SECONDS.toNanos(30);
    private static final Path SCRIPT_OPS = Path.of(System.getProperty("waybill.test.script.ops"));
    private static final Path TORCH_RUNTIME = Path.of(System.getProperty("waybill.test.torch.runtime"));

    @TempDir
    private static Path directory;

    private static Framework framework;
    private static Bundle scriptOps;
    private static Function<String, String> wrapping;

    @BeforeAll
    static void startFramework() throws Exception {
        framework = start(directory.resolve("framework"), System.getProperty("waybill.torch.natives"));
        scriptOps = bundle(framework, "io.waybill.script-ops");
        handler();
        wrapping = startWrapping();
    }

    @AfterAll
    static void stopFramework() throws Exception {
        stop(framework);
        String released = wrapping("release");
        assertThat(released)
                .as("after the framework has stopped")
                .isIn("0 handles, 0 storages", "IllegalStateException: this native tensor is released");
    }

    private static void stop(Framework started) throws Exception {
        started.stop();
        started.waitForStop(WAIT_NS / 1_000_000);
    }

    @Test
    void respondsAcrossUpdatesAndReleasesWhatWasReplaced() throws Exception {
        assertThat(sumOfOnes(handler())).isEqualTo(Value.of(6.0));

        for (int update = 1; update <= 3; update++) {
            WeakReference<ClassLoader> before =
                    new WeakReference<>(handler().getClass().getClassLoader());
            try (InputStream jar = Files.newInputStream(SCRIPT_OPS)) {
                scriptOps.update(jar);
            }
            assertThat(sumOfOnes(handler())).isEqualTo(Value.of(6.0));
            assertThat(eventually(() -> {
                        System.gc();
                        return before.get() == null;
                    }))
                    .as("the class loader of before update " + update + " is unreachable")
                    .isTrue();
        }
    }

    @Test
    void staysInstalledWithoutAHandlerWhereLibtorchIsMissing() throws Exception {
        Framework other = start(directory.resolve("other"), directory.toString());
        try {
            assertThat(bundle(other, "io.waybill.script-ops").getState()).isEqualTo(Bundle.ACTIVE);
            ServiceReference<MessageHandler> reference =
                    reference(other, "SCRIPT_CALL").orElseThrow();
            assertThat(other.getBundleContext().getService(reference)).isNull();
        } finally {
            stop(other);
        }
    }

    @Test
    void servesScriptsAcrossUpdatesAndLetsGoOfWhatWasReplaced() throws Exception {
        ScriptFile first = script(
                "first",
                "def twice(x: int):\n    return 2 * x\n"
                        + "def far(to: str, x: int):\n    return rpc.rpc_sync(to, twice, (x,))\n");
        ServiceRegistration<Script> registration = publish(first);
        assertThat(first.schemas)
                .as(first.problem)
                .containsExactly("math.twice(int x) -> int", "math.far(str to, int x) -> int");
        assertThat(respond("math.twice", Value.of(4))).isEqualTo(Value.of(8));

        for (int update = 1; update <= 3; update++) {
            WeakReference<ClassLoader> before =
                    new WeakReference<>(handler().getClass().getClassLoader());
            try (InputStream jar = Files.newInputStream(SCRIPT_OPS)) {
                scriptOps.update(jar);
            }
            assertThat(eventually(() -> reference("function:math.twice").isPresent()))
                    .isTrue();
            assertThat(respond("math.twice", Value.of(5))).isEqualTo(Value.of(10));
            assertThatThrownBy(() -> respond("math.far", Value.of("w"), Value.of(5)))
                    .as("the way from libtorch to this version's classes")
                    .isInstanceOf(RejectedMessageException.class)
                    .hasMessageContaining("UnsupportedOperationException");
            assertThat(eventually(() -> {
                        System.gc();
                        return before.get() == null;
                    }))
                    .as("the class loader of before update " + update + " is unreachable")
                    .isTrue();
        }
        registration.unregister();
        assertThat(reference("function:math.twice")).isEmpty();
    }

    @Test
    void replacesAScriptWithoutAMomentBetween() throws Exception {
        ServiceRegistration<Script> old = publish(script("old", "def f() -> int:\n    return 1\n"));
        assertThat(respond("math.f")).isEqualTo(Value.of(1));
        ScriptFile broken = script("broken", "def f() -> int:\n    return x\n");
        publish(broken).unregister();
        assertThat(broken.problem).startsWith("line 2: undefined value x");
        ScriptFile next = script("next", "def f() -> int:\n    return 2\n");
        publish(next);

        assertThat(next.schemas).hasSize(1);
        old.unregister();
        assertThat(respond("math.f")).isEqualTo(Value.of(2));
    }

    @Test
    void aBundleHoldsLiveTensorsAcrossUpdatesOfTheOperators() throws Exception {
        assertThat(wrapping("build")).isEqualTo("requires grad");
        WeakReference<ClassLoader> before =
                new WeakReference<>(handler().getClass().getClassLoader());
        try (InputStream jar = Files.newInputStream(SCRIPT_OPS)) {
            scriptOps.update(jar);
        }
        handler();

        assertThat(wrapping("stale")).isEqualTo("HANDLER_GONE");
        assertThat(eventually(() -> {
                    System.gc();
                    return before.get() == null;
                }))
                .as("live tensors keep no class loader")
                .isTrue();
        assertThat(wrapping("continue")).as("a graph of both versions").isEqualTo("30.0");
        assertThat(wrapping("release")).isEqualTo("0 handles, 0 storages");
        assertThat(wrapping("release")).isEqualTo("IllegalStateException: this native tensor is released");
        assertThat(wrapping("build"))
                .as("released after the framework has stopped")
                .isEqualTo("requires grad");
        wrapping("forget");
    }

    private static String wrapping(String step) {
        return wrapping.apply(step);
    }

    /** Starts a bundle that uses torch-runtime's service and that of script-ops, as a plugin does. */
    @SuppressWarnings("unchecked")
    private static Function<String, String> startWrapping() throws Exception {
        Path jar = directory.resolve("wrapping.jar");
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().putValue("Manifest-Version", "1.0");
        manifest.getMainAttributes().putValue("Bundle-ManifestVersion", "2");
        manifest.getMainAttributes().putValue("Bundle-SymbolicName", "org.acme.wrapping");
        manifest.getMainAttributes().putValue("Bundle-Activator", WrappingBundle.class.getName());
        manifest.getMainAttributes()
                .putValue(
                        "Import-Package",
                        "io.waybill.torch;version=\"[1.0,2)\",io.waybill.api,io.waybill.api.tensor,org.osgi.framework,"
                                + "org.bytedeco.javacpp,org.bytedeco.pytorch,org.bytedeco.pytorch.global");
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar), manifest)) {
            String name = WrappingBundle.class.getName().replace('.', '/') + ".class";
            out.putNextEntry(new ZipEntry(name));
            try (InputStream in = WrappingBundle.class.getClassLoader().getResourceAsStream(name)) {
                in.transferTo(out);
            }
        }
        Bundle bundle = framework.getBundleContext().installBundle(jar.toUri().toString());
        bundle.start();
        return (Function<String, String>)
                bundle.getBundleContext().getService(bundle.getBundleContext().getServiceReference(Function.class));
    }

    private ScriptFile script(String folder, String text) throws IOException {
        return ScriptFile.source(Files.createDirectory(directory.resolve(folder)), "math", text);
    }

    private ServiceRegistration<Script> publish(Script script) {
        return framework.getBundleContext().registerService(Script.class, script, null);
    }

    private static Value respond(String function, Value... arguments) throws Exception {
        ServiceReference<MessageHandler> reference =
                reference("function:" + function).orElseThrow();
        assertThat(reference.getProperty("waybill.non.blocking"))
                .as("functions may run long")
                .isNull();
        RecordingOutbox outbox = new RecordingOutbox();
        framework.getBundleContext().getService(reference).handle(call(function, arguments), outbox);
        framework.getBundleContext().ungetService(reference);
        return outbox.value();
    }

    /** The packages of broker-api in their versions, which the framework exports as a node does. */
    private static String exportsOfApi() throws IOException {
        for (URL url :
                Collections.list(ScriptOpsBundleTest.class.getClassLoader().getResources("META-INF/MANIFEST.MF"))) {
            try (InputStream in = url.openStream()) {
                Attributes manifest = new Manifest(in).getMainAttributes();
                String exports = manifest.getValue(Constants.EXPORT_PACKAGE);
                if (exports != null && exports.contains(Script.class.getPackageName() + ";")) {
                    return exports;
                }
            }
        }
        throw new AssertionError("no manifest on the class path exports " + Script.class.getPackageName());
    }

    private static Framework start(Path storage, String natives) throws Exception {
        Map<String, String> properties = Map.of(
                "waybill.torch.natives",
                natives,
                "org.osgi.framework.storage",
                storage.toString(),
                "org.osgi.framework.system.packages.extra",
                exportsOfApi(),
                "felix.log.level",
                "1");
        Framework started = new FrameworkFactory().newFramework(properties);
        started.start();
        List<Path> jars = new ArrayList<>();
        try (Stream<Path> found = Files.list(Path.of(System.getProperty("waybill.test.framework.bundles")))) {
            jars.addAll(found.toList());
        }
        jars.add(TORCH_RUNTIME);
        jars.add(SCRIPT_OPS);
        List<Bundle> bundles = new ArrayList<>();
        for (Path jar : jars) {
            bundles.add(started.getBundleContext().installBundle(jar.toUri().toString()));
        }
        for (Bundle bundle : bundles) {
            bundle.start();
        }
        assertThat(eventually(() -> reference(started, "SCRIPT_CALL").isPresent()))
                .as("a handler was published")
                .isTrue();
        return started;
    }

    private static Bundle bundle(Framework started, String symbolicName) {
        return Stream.of(started.getBundleContext().getBundles())
                .filter(bundle -> bundle.getSymbolicName().equals(symbolicName))
                .findFirst()
                .orElseThrow();
    }

    private static MessageHandler handler() {
        BundleContext context = framework.getBundleContext();
        ServiceReference<MessageHandler> reference = reference("SCRIPT_CALL").orElseThrow();
        assertThat(reference.getProperty("waybill.non.blocking")).isEqualTo(true);
        return context.getService(reference);
    }

    private static Optional<ServiceReference<MessageHandler>> reference(String key) {
        return reference(framework, key);
    }

    private static Optional<ServiceReference<MessageHandler>> reference(Framework started, String key) {
        try {
            return started
                    .getBundleContext()
                    .getServiceReferences(
                            MessageHandler.class, "(" + HandlesMessage.PREFIX_ + "handles.message=" + key + ")")
                    .stream()
                    .findFirst();
        } catch (org.osgi.framework.InvalidSyntaxException e) {
            throw new AssertionError(e);
        }
    }

    private static Value sumOfOnes(MessageHandler handler) throws Exception {
        RecordingOutbox ones = new RecordingOutbox();
        handler.handle(call("aten::ones", Value.ints(2, 3)), ones);
        RecordingOutbox sum = new RecordingOutbox();
        handler.handle(call("aten::sum", ones.value()), sum);
        RecordingOutbox item = new RecordingOutbox();
        handler.handle(call("aten::item", sum.value()), item);
        ones.release();
        sum.release();
        return item.value();
    }

    private static TestMessage call(String name, Value... arguments) {
        return TestMessage.of(MessageType.SCRIPT_CALL, new Invocation(name, List.of(arguments), Map.of()));
    }

    private static boolean eventually(BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - start > WAIT_NS) {
                return false;
            }
            Thread.onSpinWait();
        }
        return true;
    }
}
