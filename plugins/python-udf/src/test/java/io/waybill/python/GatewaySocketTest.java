package io.waybill.python;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.testing.core.Waits;
import java.io.IOException;
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
                List<Thread> accepting = Thread.getAllStackTraces().keySet().stream()
                        .filter(thread -> thread.getName().equals("python-gateway"))
                        .toList();
                assertThat(accepting).as("round %d", round).isNotEmpty();
                accepting.forEach(Thread::interrupt);
                Waits.until("a connection is served", () -> {
                    connect(path);
                    return served.get() > before;
                });
            }
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
