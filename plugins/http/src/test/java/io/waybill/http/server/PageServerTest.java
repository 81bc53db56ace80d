package io.waybill.http.server;

import static io.waybill.http.server.HttpHarness.awaitBound;
import static io.waybill.http.server.HttpHarness.get;
import static io.waybill.http.server.HttpHarness.rest;
import static io.waybill.http.server.HttpHarness.send;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** What clients of all kinds get from a server, over real sockets. */
@Timeout(180)
class PageServerTest {

    private static final int MAX_CONNECTIONS = 32; // as the page about metrics says

    @TempDir
    private Path directory;

    @RegisterExtension
    final HttpHarness http = new HttpHarness();

    @Test
    void boundsTheRequest() throws Exception {
        SocketAddress address = awaitBound(http.server("127.0.0.1:0"));
        SocketChannel client = http.connect(address);
        send(client, "GET /a HTTP/1.1\r\nHost: localhost\r\nX: " + "x".repeat(PageServer.MAX_HEAD_BYTES));
        assertThat(rest(client)).as("the response to a head beyond the limit").startsWith("HTTP/1.1 431 ");
        SocketChannel other = http.connect(address);
        send(other, "GET /" + "a".repeat(PageServer.MAX_HEAD_BYTES));
        assertThat(rest(other)).startsWith("HTTP/1.1 414 ");
    }

    @Test
    void servesOthersWhileClientsDoNothing() throws Exception {
        SocketAddress address = awaitBound(http.server("127.0.0.1:0"));
        List<SocketChannel> idle = new ArrayList<>();
        for (int i = 0; i < 3 * MAX_CONNECTIONS; i++) {
            SocketChannel client = http.connect(address);
            send(client, i % 2 == 0 ? "GET /a HT" : get("/a/large")); // and does not read
            idle.add(client);
        }
        assertThat(http.response(address, get("/a"))).startsWith("HTTP/1.1 200 ");
        try {
            assertThat(rest(idle.get(0))).as("the oldest one made room").isEmpty();
        } catch (IOException e) {
            assertThat(e).as("the oldest one made room").hasMessageContaining("reset");
        }
    }

    @Test
    void closesAConnectionThatTakesTooLong() throws Exception {
        SocketChannel client = http.connect(awaitBound(http.server("127.0.0.1:0")));
        client.configureBlocking(false);
        send(client, "GET /a HTTP/1.1\r\nX: ");
        ByteBuffer in = ByteBuffer.allocate(1);
        AtomicInteger looks = new AtomicInteger();
        Waits.until("the server closes it, although it is never idle", () -> {
            try {
                if (looks.getAndIncrement() % 16 == 0) { // else the head would soon be too large
                    send(client, "x");
                }
                return client.read(in) < 0;
            } catch (IOException e) {
                return true;
            }
        });
        assertThat(in.position()).as("bytes of a response").isZero();
    }

    @Test
    void servesAUnixSocketOfItsUserAlone() throws Exception {
        Path socket = directory.resolve("metrics.sock");
        try (PageServer server = http.server("unix:" + socket)) {
            awaitBound(server);
            Waits.until(
                    "it is closed to others",
                    () -> PosixFilePermissions.toString(permissions(socket)).equals("rw-------"));
            assertThat(http.response(UnixDomainSocketAddress.of(socket), get("/a")))
                    .endsWith("a for text\n");
        }
        assertThat(socket).doesNotExist();
    }

    private static java.util.Set<java.nio.file.attribute.PosixFilePermission> permissions(Path file) {
        try {
            return Files.getPosixFilePermissions(file);
        } catch (IOException e) {
            return java.util.Set.of();
        }
    }

    @Test
    void replacesASocketThatADeadProcessLeft() throws Exception {
        Path socket = directory.resolve("metrics.sock");
        ServerSocketChannel.open(java.net.StandardProtocolFamily.UNIX)
                .bind(UnixDomainSocketAddress.of(socket))
                .close();
        assertThat(socket).exists();
        awaitBound(http.server("unix:" + socket));
        assertThat(http.response(UnixDomainSocketAddress.of(socket), get("/a"))).contains("200 OK");
    }

    @Test
    void leavesAFileThatIsNoSocket() throws Exception {
        Path file = Files.writeString(directory.resolve("file"), "precious");
        PageServer server = http.server("unix:" + file);
        server.close();
        assertThat(file).hasContent("precious");
        assertThat(server.bound()).isEmpty();
    }

    @Test
    void takesOverWhenTheFirstOneEnds() throws Exception {
        PageServer first = http.server("127.0.0.1:0");
        int port = ((InetSocketAddress) awaitBound(first)).getPort();
        PageServer second = http.server("127.0.0.1:" + port);
        assertThat(http.response(first.bound().orElseThrow(), get("/a"))).contains("200 OK");
        assertThat(second.bound()).isEmpty();
        first.close();
        assertThat(http.response(awaitBound(second), get("/a"))).contains("200 OK");
    }

    @Test
    void leavesNothingWhenItIsClosed() throws Exception {
        PageServer server = http.server("127.0.0.1:0");
        SocketAddress address = awaitBound(server);
        SocketChannel idle = http.connect(address);
        server.close();
        assertThatThrownBy(() -> SocketChannel.open(address)).isInstanceOf(IOException.class);
        assertThat(Thread.getAllStackTraces().keySet())
                .noneMatch(thread -> thread.getName().startsWith(PageServer.THREADS) && thread.isAlive());
        assertThat(idle.isOpen()).isTrue();
    }

    @Test
    void closesTheOldestOfTooManyConnections() throws Exception {
        SocketAddress address = awaitBound(http.server("127.0.0.1:0"));
        List<SocketChannel> silent = new ArrayList<>();
        for (int i = 0; i < MAX_CONNECTIONS; i++) {
            silent.add(http.connect(address));
        }
        SocketChannel last = http.connect(address);
        silent.get(0).socket().setSoTimeout(60_000);
        assertThat(silent.get(0).socket().getInputStream().read())
                .as("the oldest of more than " + MAX_CONNECTIONS + " connections")
                .isEqualTo(-1);
        for (SocketChannel each : silent.subList(1, silent.size())) {
            send(each, get("/a"));
            assertThat(rest(each)).contains("200 OK");
        }
        send(last, get("/a"));
        assertThat(rest(last)).contains("200 OK");
    }

    @Test
    void servesOnAfterAnInterrupt() throws Exception {
        PageServer server = http.server("127.0.0.1:0");
        for (int i = 0; i < 20; i++) {
            awaitBound(server);
            interrupt();
            Waits.until("it serves", () -> serves(server));
        }
    }

    private boolean serves(PageServer server) {
        try {
            return http.response(awaitBound(server), get("/a")).contains("200 OK");
        } catch (IOException e) { // it begins again, with another port
            return false;
        }
    }

    private static void interrupt() {
        List<Thread> found = Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith(PageServer.THREADS))
                .toList();
        assertThat(found).hasSizeGreaterThanOrEqualTo(3).allMatch(Thread::isDaemon);
        found.forEach(Thread::interrupt);
    }
}
