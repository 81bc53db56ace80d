package io.waybill.http.server;

import io.waybill.http.ListenAddress;
import io.waybill.http.Page;
import io.waybill.http.WebPages;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Servers of a test, and clients that send what they like over real sockets. All are closed after it. */
final class HttpHarness implements AfterEachCallback {

    /** Body of {@code /a/large}, more than a socket buffers. */
    static final String BODY = "x".repeat(3_000_000);

    private final List<AutoCloseable> open = new ArrayList<>();

    @Override
    public void afterEach(ExtensionContext context) throws Exception {
        for (AutoCloseable each : open) {
            each.close();
        }
    }

    /** Exception that cannot be described. */
    private static final class MuteException extends Exception {

        @Override
        public String toString() {
            throw new IllegalStateException("planted");
        }
    }

    /** Starts a server with pages of all kinds. */
    PageServer server(String address) throws IOException {
        return server(address, request -> switch (request.path()) {
            case "/a" -> Page.text(200, "a for " + request.header("Accept").orElse("none"));
            case "/a/large" -> Page.text(200, BODY);
            case "/a/broken" -> throw new IOException("planted");
            case "/a/null" -> new Page(200, "text/plain", Map.of(), null);
            case "/a/error" -> throw new StackOverflowError("planted");
            case "/a/header" -> new Page(200, "text/plain", Map.of("X-A", "b\r\nX: y"), new byte[0]);
            case "/a/type" -> new Page(200, "text/plain\r\nX: y", Map.of(), new byte[0]);
            case "/a/mute" -> throw new MuteException();
            case "/a/interrupt" -> {
                Thread.currentThread().interrupt();
                yield Page.text(200, "interrupted");
            }
            default -> null;
        });
    }

    PageServer server(String address, WebPages pages) throws IOException {
        PageServer server = new PageServer(ListenAddress.parse(address), List.of(hosted("/a", address, pages)));
        open.add(server);
        return server;
    }

    static HostedPages hosted(String path, String address, WebPages pages) {
        return new HostedPages(
                "org.acme",
                pages,
                Map.of(WebPages.LISTEN, address, WebPages.PATHS, path, WebPages.METHODS, List.of("GET", "POST"))::get);
    }

    static SocketAddress awaitBound(PageServer server) {
        Waits.until("it listens", () -> server.bound().isPresent());
        return server.bound().orElseThrow();
    }

    SocketChannel connect(SocketAddress address) throws IOException {
        SocketChannel client = SocketChannel.open(address);
        open.add(client);
        return client;
    }

    static String get(String path) {
        return "GET " + path + " HTTP/1.1\r\nHost: localhost:1\r\nAccept: text\r\n\r\n";
    }

    static void send(SocketChannel client, String text) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(StandardCharsets.ISO_8859_1));
        while (bytes.hasRemaining()) {
            client.write(bytes);
        }
    }

    /** Reads up to the end of the connection. */
    static String rest(SocketChannel client) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(4 * 1024 * 1024);
        while (client.read(buffer) >= 0) {
            // until it is closed
        }
        return new String(buffer.array(), 0, buffer.position(), StandardCharsets.ISO_8859_1);
    }

    String response(SocketAddress address, String request) throws IOException {
        SocketChannel client = connect(address);
        send(client, request);
        return rest(client);
    }
}
