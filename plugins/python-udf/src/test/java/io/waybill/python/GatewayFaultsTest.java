package io.waybill.python;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.waybill.api.Value;
import io.waybill.api.broker.Broker;
import io.waybill.api.broker.JoinedWorker;
import io.waybill.python.wire.SocketFrame;
import io.waybill.testing.core.ManualBroker;
import io.waybill.testing.core.Waits;
import java.lang.System.Logger.Level;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.osgi.framework.BundleContext;

/** What fails while a client connects costs that connection alone, and leaves nothing behind. */
@Timeout(120)
class GatewayFaultsTest {

    private static final Path PRLIMIT = Path.of("/usr/bin/prlimit");
    /** Takes the right to open files from a process for two seconds. */
    private static final String NO_FILES = "was=$(prlimit --pid $1 --nofile --output SOFT --noheadings)\n"
            + "trap 'prlimit --pid $1 --nofile=$was:' EXIT\n"
            + "prlimit --pid $1 --nofile=3: && echo taken && sleep 2";

    @TempDir
    private Path directory;

    /** A worker whose broker is revoked at once, as when its node stops just then. */
    private static final class RevokedWorker implements JoinedWorker {

        private final AtomicInteger closed = new AtomicInteger();
        private final ManualBroker broker = new ManualBroker();

        RevokedWorker() {
            broker.revoke();
        }

        @Override
        public Broker broker() {
            return broker;
        }

        @Override
        public String shutdown(Duration limit, Collection<String> others) {
            return "";
        }

        @Override
        public void sendAndPoll(Runnable sends) {
            sends.run();
        }

        @Override
        public void close() {
            throw new AssertionError("its process is gone: nothing can end in order");
        }

        @Override
        public void abandon() {
            closed.incrementAndGet();
        }
    }

    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }

    /** A node's broker, as far as a gateway without a pool uses it. */
    private Broker broker(JoinedWorker joins) {
        ManualBroker rest = new ManualBroker();
        return proxy(Broker.class, (self, method, arguments) -> switch (method.getName()) {
            case "directory" -> Optional.of(directory);
            case "join" -> joins;
            default -> invoke(method, rest, arguments);
        });
    }

    private static Object invoke(Method method, Object on, Object[] arguments) throws Throwable {
        try {
            return method.invoke(on, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    private PythonGateway gateway(JoinedWorker joins) throws Exception {
        BundleContext context = proxy(BundleContext.class, (self, method, arguments) -> null);
        PythonSettings.Config config =
                proxy(PythonSettings.Config.class, (self, method, arguments) -> method.getDefaultValue());
        return new PythonGateway(context, broker(joins), config);
    }

    @Test
    void closesAWorkerThatItCanNotServe() throws Exception {
        RevokedWorker worker = new RevokedWorker();
        PythonGateway gateway = gateway(worker);
        try (TestProcess process = new TestProcess(directory.resolve("python.sock"))) {
            process.send(SocketFrame.of(SocketFrame.Kind.HELLO, new Value.Dict(TestProcess.hello("py0"))));
            assertThat(process.read().kind()).isEqualTo(SocketFrame.Kind.FAILED);
            Waits.until("the worker has left the home", () -> worker.closed.get() == 1);
        } finally {
            gateway.end();
        }
    }

    private static String pid() {
        return Long.toString(ProcessHandle.current().pid());
    }

    @Test
    void acceptsAgainWhenThereAreDescriptorsAgain() throws Exception {
        assumeTrue(Files.isExecutable(PRLIMIT), "there is no " + PRLIMIT);

        AtomicInteger served = new AtomicInteger();
        try (GatewaySocket socket =
                new GatewaySocket(directory.resolve("own.sock"), channel -> served.incrementAndGet())) {
            SocketChannel.open(UnixDomainSocketAddress.of(socket.path())).close();
            Waits.until("a connection is served", () -> served.get() == 1);
            System.getLogger(GatewaySocket.class.getName())
                    .log(Level.INFO, "what a first line of the log opens is open");
            try (SocketChannel first = SocketChannel.open(StandardProtocolFamily.UNIX);
                    SocketChannel second = SocketChannel.open(StandardProtocolFamily.UNIX)) {
                Process taking = new ProcessBuilder("/bin/bash", "-c", NO_FILES, "no-files", pid())
                        .redirectError(ProcessBuilder.Redirect.INHERIT)
                        .start();
                assertThat(taking.getInputStream().read()).isEqualTo('t');
                first.connect(
                        UnixDomainSocketAddress.of(socket.path())); // takes the descriptor that accept has reserved
                second.connect(UnixDomainSocketAddress.of(socket.path()));
                assertThat(taking.waitFor(60, TimeUnit.SECONDS)).isTrue();
            }
            SocketChannel.open(UnixDomainSocketAddress.of(socket.path())).close();
            Waits.until("connections are served again", () -> served.get() >= 3);
        }
    }
}
