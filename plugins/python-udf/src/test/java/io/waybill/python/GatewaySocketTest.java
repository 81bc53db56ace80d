package io.waybill.python;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.python.wire.FrameChannel;
import io.waybill.python.wire.SocketFrame;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The socket of the gateway, whatever happens to its thread. */
@Timeout(180)
class GatewaySocketTest {

    @TempDir
    private Path directory;

    private final AtomicInteger served = new AtomicInteger();

    @Test
    void takesConnectionsAfterAnInterrupt() throws IOException {
        Path path = directory.resolve("gateway");
        try (GatewaySocket socket = new GatewaySocket(path, channel -> served.incrementAndGet())) {
            assertThat(socket.path()).isEqualTo(path);
            for (int round = 0; round < 3; round++) {
                int before = served.get();
                interrupt("python-gateway");
                Waits.until("a connection is served", () -> {
                    connect(path);
                    return served.get() > before;
                });
            }
        }
    }

    @Test
    void listensAtAPathOfTheMaxLength() throws IOException {
        int left = GatewaySocket.MAX_PATH - directory.toString().length() - 1;
        assertThat(left).as("bytes left for a name below %s", directory).isPositive();
        Path path = directory.resolve("s".repeat(left));
        try (GatewaySocket socket = new GatewaySocket(path, channel -> served.incrementAndGet())) {
            Waits.until("a connection is served", () -> {
                connect(socket.path());
                return served.get() > 0;
            });
        }
    }

    @Test
    void keepsAConnectionAfterAnInterrupt() throws Exception {
        Path path = directory.resolve("gateway");
        try (GatewaySocket socket = new GatewaySocket(path, GatewaySocketTest::echo);
                TestProcess process = new TestProcess(socket.path())) {
            for (int round = 0; round < 3; round++) {
                process.send(SocketFrame.of(SocketFrame.Kind.RELEASE, round));
                assertThat(process.read().kind()).isEqualTo(SocketFrame.Kind.RELEASE);
                interrupt("python-link");
            }
        }
    }

    private static void interrupt(String name) {
        List<Thread> found = Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals(name))
                .toList();
        assertThat(found).isNotEmpty();
        found.forEach(Thread::interrupt);
    }

    private static void echo(FrameChannel channel) {
        try {
            for (SocketFrame frame = channel.read(64, 0); frame != null; frame = channel.read(64, 0)) {
                channel.write(SocketFrame.of(frame.kind(), 1));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void connect(Path path) {
        try (SocketChannel client = SocketChannel.open(UnixDomainSocketAddress.of(path))) {
            assertThat(client.isConnected()).isTrue();
        } catch (IOException e) { // it listens again a moment later
            assertThat(e).isNotNull();
        }
    }
}
