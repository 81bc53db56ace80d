package io.waybill.testing;

import io.waybill.host.DirectoryTree;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * JUnit extension that passes a {@link TestBroker} with a bundle to each test, as a parameter, and stops it afterwards.
 * A successful test then fails if the bundle blocked the poller, or the class loader of a replaced version is still
 * reachable.
 *
 * <pre>{@code
 * @RegisterExtension
 * static final WaybillExtension WAYBILL = WaybillExtension.withBundle(Path.of("target/classes"));
 *
 * @Test
 * void counts(TestBroker broker) {
 *     Request request = broker.request("text.count");
 *     ...
 * }
 * }</pre>
 */
public final class WaybillExtension implements BeforeEachCallback, AfterEachCallback, ParameterResolver {

    private static final ExtensionContext.Namespace NAMESPACE =
            ExtensionContext.Namespace.create(WaybillExtension.class);

    private final WorkerSetup server;

    private WaybillExtension(WorkerSetup server) {
        this.server = server;
    }

    /** @param bundle a jar, or a directory with the content of one, such as bnd's output in {@code target/classes} */
    public static WaybillExtension withBundle(Path bundle) {
        return with(WorkerSetup.of(bundle));
    }

    /** @param server setup of the worker with the bundle; the last of its bundles is the tested one */
    public static WaybillExtension with(WorkerSetup server) {
        return new WaybillExtension(server);
    }

    /** Adds a bundle that is installed before the tested one, after those that were added before. */
    public WaybillExtension after(Path other) {
        return with(server.after(other));
    }

    /** Adds the settings of a component, which has them when it starts; see {@link TestBroker#configure}. */
    public WaybillExtension configured(String pid, Map<String, String> settings) {
        return with(server.configured(pid, settings));
    }

    @Override
    public void beforeEach(ExtensionContext context) throws IOException {
        Path directory = Files.createTempDirectory("waybill-test-");
        context.getStore(NAMESPACE).put(Path.class, directory); // removed afterwards, even if the start fails
        context.getStore(NAMESPACE).put(TestBroker.class, TestBroker.start(directory, server));
    }

    @Override
    public void afterEach(ExtensionContext context) throws IOException {
        TestBroker broker = context.getStore(NAMESPACE).remove(TestBroker.class, TestBroker.class);
        Path directory = context.getStore(NAMESPACE).remove(Path.class, Path.class);
        try (broker) {
            if (broker != null && context.getExecutionException().isEmpty()) {
                broker.assertPollerNotBlocked();
                broker.assertNoLoaderLeaked();
            }
        } finally {
            DirectoryTree.remove(directory);
        }
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == TestBroker.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        return context.getStore(NAMESPACE).get(TestBroker.class, TestBroker.class);
    }
}
