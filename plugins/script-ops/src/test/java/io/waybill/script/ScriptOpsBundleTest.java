package io.waybill.script;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.HandlesMessage;
import io.waybill.api.Invocation;
import io.waybill.api.MessageHandler;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.apache.felix.framework.FrameworkFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.BundleException;
import org.osgi.framework.ServiceReference;
import org.osgi.framework.launch.Framework;

/** The built jars in a framework with nothing but declarative services. */
@Timeout(value = 3, unit = TimeUnit.MINUTES)
class ScriptOpsBundleTest {

    private static final long WAIT_NS = TimeUnit.SECONDS.toNanos(30);
    private static final Path SCRIPT_OPS = Path.of(System.getProperty("waybill.test.script.ops"));
    private static final Path TORCH_RUNTIME = Path.of(System.getProperty("waybill.test.torch.runtime"));

    @TempDir
    private Path cache;

    private Framework framework;

    @AfterEach
    void stopFramework() throws Exception {
        if (framework != null) {
            framework.stop();
            framework.waitForStop(WAIT_NS / 1_000_000);
        }
    }

    @Test
    void answersAcrossUpdatesAndLetsGoOfWhatWasReplaced() throws Exception {
        Bundle scriptOps = start(Map.of("waybill.torch.natives", System.getProperty("waybill.torch.natives")));
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
        Bundle scriptOps = start(Map.of("waybill.torch.natives", cache.toString()));

        assertThat(scriptOps.getState()).isEqualTo(Bundle.ACTIVE);
        ServiceReference<MessageHandler> reference = reference().orElseThrow();
        assertThat(framework.getBundleContext().getService(reference)).isNull();
    }

    private Bundle start(Map<String, String> properties) throws Exception {
        Map<String, String> all = new java.util.HashMap<>(properties);
        all.put("org.osgi.framework.storage", cache.resolve("framework").toString());
        all.put("org.osgi.framework.system.packages.extra", "io.waybill.api;version=1.0.0");
        all.put("felix.log.level", "1");
        framework = new FrameworkFactory().newFramework(all);
        framework.start();
        List<Bundle> bundles = new ArrayList<>();
        try (Stream<Path> jars = Files.list(Path.of(System.getProperty("waybill.test.framework.bundles")))) {
            for (Path jar : jars.toList()) {
                bundles.add(install(jar));
            }
        }
        bundles.add(install(TORCH_RUNTIME));
        Bundle scriptOps = install(SCRIPT_OPS);
        bundles.add(scriptOps);
        for (Bundle bundle : bundles) {
            bundle.start();
        }
        assertThat(eventually(() -> reference().isPresent()))
                .as("a handler was published")
                .isTrue();
        return scriptOps;
    }

    private Bundle install(Path jar) throws BundleException {
        return framework.getBundleContext().installBundle(jar.toUri().toString());
    }

    private MessageHandler handler() {
        BundleContext context = framework.getBundleContext();
        ServiceReference<MessageHandler> reference = reference().orElseThrow();
        assertThat(reference.getProperty("waybill.non.blocking")).isEqualTo(true);
        return context.getService(reference);
    }

    private Optional<ServiceReference<MessageHandler>> reference() {
        try {
            return framework
                    .getBundleContext()
                    .getServiceReferences(
                            MessageHandler.class, "(" + HandlesMessage.PREFIX_ + "handles.message=SCRIPT_CALL)")
                    .stream()
                    .findFirst();
        } catch (org.osgi.framework.InvalidSyntaxException e) {
            throw new AssertionError(e);
        }
    }

    private static Value sumOfOnes(MessageHandler handler) throws RejectedMessageException {
        RecordedOutbox ones = new RecordedOutbox();
        handler.handle(call("aten::ones", Value.ints(2, 3)), ones);
        RecordedOutbox sum = new RecordedOutbox();
        handler.handle(call("aten::sum", ones.reply("of ones")), sum);
        RecordedOutbox item = new RecordedOutbox();
        handler.handle(call("aten::item", sum.reply("of their sum")), item);
        ones.release();
        sum.release();
        return item.reply("with the sum");
    }

    private static MessageOf call(String name, Value... arguments) {
        return new MessageOf(new Invocation(name, List.of(arguments), Map.of()));
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
