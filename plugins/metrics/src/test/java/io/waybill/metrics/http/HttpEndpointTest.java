package io.waybill.metrics.http;

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
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What clients of all kinds get from the endpoint. */
@Timeout(180)
class HttpEndpointTest {

    private static final int MAX_CONNECTIONS = 32; // as the page about metrics says
    private static final String BODY = "x".repeat(3_000_000); // more than a socket buffers

    @TempDir
    private Path directory;

    private final List<AutoCloseable> open = new ArrayList<>();

    @AfterEach
    void close() throws Exception {
        for (AutoCloseable each : open) {
            each.close();
        }
    }

    private HttpEndpoint endpoint(String address) throws IOException {
        HttpEndpoint endpoint = new HttpEndpoint(ListenAddress.parse(address), (path, accept) -> switch (path) {
            case "/a" -> Page.text("200 OK", "a for " + accept);
            case "/large" -> Page.text("200 OK", BODY);
            case "/broken" -> throw new IOException("planted");
            case "/null" -> new Page("200 OK", "text/plain", null);
            case "/error" -> throw new StackOverflowError("planted");
            default -> null;
        });
        open.add(endpoint);
        return endpoint;
    }

    private static SocketAddress awaitBound(HttpEndpoint endpoint) {
        Waits.until("it listens", () -> endpoint.bound().isPresent());
        return endpoint.bound().orElseThrow();
    }

    private SocketChannel connect(SocketAddress address) throws IOException {
        SocketChannel client = SocketChannel.open(address);
        open.add(client);
        return client;
    }

    private static String get(String path) {
        return "GET " + path + " HTTP/1.1\r\nHost: localhost:1\r\nAccept: text\r\n\r\n";
    }

    private static void send(SocketChannel client, String text) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(StandardCharsets.ISO_8859_1));
        while (bytes.hasRemaining()) {
            client.write(bytes);
        }
    }

    /** Reads up to the end of the connection. */
    private static String rest(SocketChannel client) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(4 * 1024 * 1024);
        while (client.read(buffer) >= 0) {
            // until it is closed
        }
        return new String(buffer.array(), 0, buffer.position(), StandardCharsets.ISO_8859_1);
    }

    private String response(SocketAddress address, String request) throws IOException {
        SocketChannel client = connect(address);
        send(client, request);
        return rest(client);
    }

    @Test
    void servesPages() throws Exception {
        SocketAddress address = awaitBound(endpoint("127.0.0.1:0"));
        assertThat(response(address, get("/a?x=1")))
                .startsWith("HTTP/1.1 200 OK\r\n")
                .contains("\r\nContent-Length: 11\r\n")
                .endsWith("\r\n\r\na for text\n");
        assertThat(response(address, get("/large"))).endsWith(BODY + "\n");
        assertThat(response(address, "HEAD /a HTTP/1.1\r\n\r\n"))
                .contains("200 OK")
                .endsWith("\r\n\r\n");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "GET /none HTTP/1.1\\n\\n | 404",
                "POST /a HTTP/1.1\\n\\n | 405",
                "GET /a HTTP/2\\n\\n | 400",
                "GET a HTTP/1.1\\n\\n | 400",
                "nonsense\\n\\n | 400",
                "GET /a HTTP/1.1\\nno header\\n\\n | 400",
                "GET /broken HTTP/1.1\\n\\n | 500",
                "GET /a HTTP/1.1\\nHost: evil.example:80\\n\\n | 403",
                "GET /a HTTP/1.1\\nHost: 127.0.0.1.evil.example\\n\\n | 403",
                "GET /a HTTP/1.1\\nHost: 127.0.0.1:80\\n\\n | 200",
                "GET /a HTTP/1.1\\nHost: [::1]:80\\n\\n | 200"
            })
    void refusesWhatIsNoRequestForIt(String request, String status) throws Exception {
        SocketAddress address = awaitBound(endpoint("127.0.0.1:0"));
        assertThat(response(address, request.strip().replace("\\n", "\r\n")))
                .startsWith("HTTP/1.1 " + status.strip() + " ");
    }

    @Test
    void boundsTheRequest() throws Exception {
        SocketAddress address = awaitBound(endpoint("127.0.0.1:0"));
        SocketChannel client = connect(address);
        send(client, "GET /" + "a".repeat(Connection.MAX_HEAD_BYTES - 5));
        assertThat(rest(client)).startsWith("HTTP/1.1 431 ");
    }

    @Test
    void servesOthersWhileClientsDoNothing() throws Exception {
        SocketAddress address = awaitBound(endpoint("127.0.0.1:0"));
        List<SocketChannel> idle = new ArrayList<>();
        for (int i = 0; i < 3 * HttpEndpoint.MAX_CONNECTIONS; i++) {
            SocketChannel client = connect(address);
            send(client, i % 2 == 0 ? "GET /a HT" : get("/large")); // and does not read
            idle.add(client);
        }
        assertThat(response(address, get("/a"))).startsWith("HTTP/1.1 200 ");
        try {
            assertThat(rest(idle.get(0))).as("the oldest one made room").isEmpty();
        } catch (IOException e) {
            assertThat(e).as("the oldest one made room").hasMessageContaining("reset");
        }
    }

    @Test
    void closesAConnectionThatTakesTooLong() throws Exception {
        SocketChannel client = connect(awaitBound(endpoint("127.0.0.1:0")));
        send(client, "GET /a HT");
        assertThat(rest(client)).isEmpty(); // ends only when the endpoint closes it
    }

    @Test
    void servesAUnixSocketOfItsUserAlone() throws Exception {
        Path socket = directory.resolve("metrics.sock");
        try (HttpEndpoint endpoint = endpoint("unix:" + socket)) {
            awaitBound(endpoint);
            Waits.until(
                    "it is closed to others",
                    () -> PosixFilePermissions.toString(permissions(socket)).equals("rw-------"));
            assertThat(response(UnixDomainSocketAddress.of(socket), get("/a"))).endsWith("a for text\n");
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
        awaitBound(endpoint("unix:" + socket));
        assertThat(response(UnixDomainSocketAddress.of(socket), get("/a"))).contains("200 OK");
    }

    @Test
    void leavesAFileThatIsNoSocket() throws Exception {
        Path file = Files.writeString(directory.resolve("file"), "precious");
        HttpEndpoint endpoint = endpoint("unix:" + file);
        endpoint.close();
        assertThat(file).hasContent("precious");
        assertThat(endpoint.bound()).isEmpty();
    }

    @Test
    void takesOverWhenTheFirstOneEnds() throws Exception {
        HttpEndpoint first = endpoint("127.0.0.1:0");
        int port = ((InetSocketAddress) awaitBound(first)).getPort();
        HttpEndpoint second = endpoint("127.0.0.1:" + port);
        assertThat(response(first.bound().orElseThrow(), get("/a"))).contains("200 OK");
        assertThat(second.bound()).isEmpty();
        first.close();
        assertThat(response(awaitBound(second), get("/a"))).contains("200 OK");
    }

    @Test
    void leavesNothingWhenItIsClosed() throws Exception {
        HttpEndpoint endpoint = endpoint("127.0.0.1:0");
        SocketAddress address = awaitBound(endpoint);
        SocketChannel idle = connect(address);
        endpoint.close();
        assertThatThrownBy(() -> SocketChannel.open(address)).isInstanceOf(IOException.class);
        assertThat(Thread.getAllStackTraces().keySet())
                .noneMatch(thread -> thread.getName().equals("waybill-metrics-http") && thread.isAlive());
        assertThat(idle.isOpen()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "0.0.0.0:9464",
                "192.0.2.1:80",
                ":80",
                "9464x",
                "127.0.0.1:70000",
                "unix:relative",
                "no.such.invalid:1"
            })
    void refusesAddressesThatOthersReach(String address) {
        assertThatThrownBy(() -> ListenAddress.parse(address))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(address);
    }

    @Test
    void closesTheOldestOfTooManyConnections() throws Exception {
        SocketAddress address = awaitBound(endpoint("127.0.0.1:0"));
        List<SocketChannel> silent = new ArrayList<>();
        for (int i = 0; i < MAX_CONNECTIONS; i++) {
            silent.add(connect(address));
        }
        SocketChannel last = connect(address);
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
        HttpEndpoint endpoint = endpoint("127.0.0.1:0");
        for (int i = 0; i < 20; i++) {
            awaitBound(endpoint);
            interrupt("waybill-metrics-http");
            Waits.until("it serves", () -> serves(endpoint));
        }
    }

    private boolean serves(HttpEndpoint endpoint) {
        try {
            return response(awaitBound(endpoint), get("/a")).contains("200 OK");
        } catch (IOException e) { // it begins again, with another port
            return false;
        }
    }

    private static void interrupt(String name) {
        List<Thread> found = Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals(name))
                .toList();
        assertThat(found).isNotEmpty();
        found.forEach(Thread::interrupt);
    }

    @Test
    void servesOnAfterAnError() throws Exception {
        SocketAddress address = awaitBound(endpoint("127.0.0.1:0"));
        assertThat(response(address, get("/error"))).contains("500 Internal Server Error");
        assertThat(response(address, get("/null"))).isEmpty();
        assertThat(response(address, get("/a"))).contains("200 OK");
    }
}
