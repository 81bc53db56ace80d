package io.waybill.http.server;

import static io.waybill.http.server.HttpHarness.awaitBound;
import static io.waybill.http.server.HttpHarness.get;
import static io.waybill.http.server.HttpHarness.hosted;
import static io.waybill.http.server.HttpHarness.rest;
import static io.waybill.http.server.HttpHarness.send;
import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.http.Page;
import io.waybill.http.PageRequest;
import io.waybill.http.WebPages;
import io.waybill.testing.core.Waits;
import java.net.SocketAddress;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How requests reach pages, and which responses come back. */
@Timeout(180)
class PageHandlerTest {

    @RegisterExtension
    final HttpHarness http = new HttpHarness();

    @Test
    void servesPages() throws Exception {
        SocketAddress address = awaitBound(http.server("127.0.0.1:0"));
        assertThat(http.response(address, get("/a?x=1")))
                .startsWith("HTTP/1.1 200 OK\r\n")
                .contains("\r\nContent-Length: 11\r\n")
                .endsWith("\r\n\r\na for text\n");
        assertThat(http.response(address, get("/a/large"))).endsWith(HttpHarness.BODY + "\n");
        assertThat(http.response(address, "HEAD /a HTTP/1.1\r\nHost: localhost\r\n\r\n"))
                .contains("200 OK")
                .endsWith("\r\n\r\n");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "GET /none HTTP/1.1\\nHost: localhost\\n\\n | 404 | no page is at /none: there are /a",
                "GET /ab HTTP/1.1\\nHost: localhost\\n\\n | 404 | no page is at /ab: there are /a",
                "GET /a/none HTTP/1.1\\nHost: localhost\\n\\n | 404 | no page is at /a/none",
                "PUT /a HTTP/1.1\\nHost: localhost\\n\\n | 405 | /a has [GET, HEAD, POST], found PUT",
                "GET /a HTTP/1.1\\n\\n | 400 | No Host",
                "GET a HTTP/1.1\\nHost: localhost\\n\\n | 400 | ",
                "nonsense\\n\\n | 400 | ",
                "GET /a HTTP/1.1\\nno header\\n\\n | 400 | ",
                "GET /a/../../etc HTTP/1.1\\nHost: localhost\\n\\n | 400 | ",
                "GET /a/%2e%2e/b HTTP/1.1\\nHost: localhost\\n\\n | 400 | ",
                "GET /a/broken HTTP/1.1\\nHost: localhost\\n\\n | 500 | the node's log says why",
                "GET /a HTTP/1.1\\nHost: evil.example:80\\n\\n | 421 | the host is localhost, 127.0.0.1 or [::1], found Host: evil.example:80",
                "GET /a HTTP/1.1\\nHost: 127.0.0.1.evil.example\\n\\n | 421 | found Host: 127.0.0.1.evil.example",
                "GET /a HTTP/1.1\\nHost: 192.0.2.1\\n\\n | 421 | found Host: 192.0.2.1",
                "GET http://evil.example/a HTTP/1.1\\nHost: localhost\\n\\n | 400 | ",
                "POST /a HTTP/1.1\\nHost: localhost\\nOrigin: http://evil.example\\n\\n | 403 | only pages of http://localhost may refer to it",
                "POST /a HTTP/1.1\\nHost: localhost\\nOrigin: null\\n\\n | 403 | found Origin: null",
                "POST /a HTTP/1.1\\nHost: localhost:1\\nOrigin: http://localhost:1\\n\\n | 200 | a for none",
                "OPTIONS * HTTP/1.1\\nHost: localhost\\n\\n | 404 | ",
                "GET /a HTTP/1.0\\n\\n | 200 | a for none",
                "GET /a HTTP/1.1\\nHost: 127.0.0.1:80\\n\\n | 200 | a for none",
                "GET /a HTTP/1.1\\nHost: LOCALHOST\\n\\n | 200 | a for none",
                "GET /a HTTP/1.1\\nHost: [::1]:80\\n\\n | 200 | a for none"
            })
    void refusesWhatIsNoRequestForIt(String request, String status, String text) throws Exception {
        SocketAddress address = awaitBound(http.server("127.0.0.1:0"));
        assertThat(http.response(address, request.strip().replace("\\n", "\r\n")))
                .as("the response to " + request)
                .startsWith("HTTP/1.1 " + status.strip() + " ")
                .contains(text == null ? "" : text)
                .doesNotContain("<html>", "Jetty");
    }

    @Test
    void servesOnAfterAnError() throws Exception {
        SocketAddress address = awaitBound(http.server("127.0.0.1:0"));
        for (int i = 0; i < 2 * WebPages.MAX_CALLS; i++) {
            assertThat(http.response(address, get("/a/null"))).startsWith("HTTP/1.1 500 ");
            assertThat(http.response(address, get("/a/error")))
                    .as("what an Error of a page becomes")
                    .startsWith("HTTP/1.1 500 ")
                    .contains("the node's log says why");
            assertThat(http.response(address, get("/a/mute"))).startsWith("HTTP/1.1 500 ");
            assertThat(http.response(address, get("/a/header"))).doesNotContain("\r\nX: y");
            assertThat(http.response(address, get("/a/type"))).doesNotContain("\r\nX: y");
        }
        for (int i = 0; i < 20; i++) {
            assertThat(http.response(address, get("/a/interrupt"))).endsWith("interrupted\n");
        }
        assertThat(http.response(address, get("/a"))).contains("200 OK");
    }

    @Test
    void boundsTheBody() throws Exception {
        SocketAddress address = awaitBound(http.server(
                "127.0.0.1:0", request -> Page.text(200, request.method() + " of " + request.body().length)));
        String post = "POST /a HTTP/1.1\r\nHost: localhost\r\n";
        int max = PageRequest.MAX_BODY_BYTES;
        assertThat(http.response(address, post + "Content-Length: " + max + "\r\n\r\n" + "x".repeat(max)))
                .endsWith("POST of " + max + "\n");
        assertThat(http.response(address, post + "Content-Length: " + (max + 1) + "\r\n\r\n"))
                .as("the response to a length beyond the limit")
                .startsWith("HTTP/1.1 413 ")
                .endsWith("a body has at most " + max + " bytes\n");
        String chunk = Integer.toHexString(max) + "\r\n" + "x".repeat(max) + "\r\n";
        assertThat(http.response(address, post + "Transfer-Encoding: chunked\r\n\r\n" + chunk + "0\r\n\r\n"))
                .endsWith("POST of " + max + "\n");
        assertThat(http.response(address, post + "Transfer-Encoding: chunked\r\n\r\n" + chunk + "1\r\nx\r\n"))
                .as("the response to chunks beyond the limit")
                .startsWith("HTTP/1.1 413 ");
    }

    @Test
    void servesOthersWhileBodiesAreSlow() throws Exception {
        SocketAddress address = awaitBound(http.server("127.0.0.1:0"));
        for (int i = 0; i < SocketConnector.MAX_CONNECTIONS - 1; i++) { // more than there are threads
            send(http.connect(address), "POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nx");
        }
        assertThat(http.response(address, get("/a")))
                .as("the response while others send slowly")
                .startsWith("HTTP/1.1 200 ");
    }

    @Test
    void asksThePagesWithTheMostSpecificPath() throws Exception {
        String address = "127.0.0.1:0";
        WebPages all = request -> Page.text(200, "all");
        PageServer server = http.server(address);
        server.show(List.of(
                hosted("/", address, all),
                hosted("/a/b", address, request -> Page.text(200, "b")),
                hosted("/a/b", address, all)));
        SocketAddress bound = awaitBound(server);
        assertThat(http.response(bound, get("/a/b"))).endsWith("b\n");
        assertThat(http.response(bound, get("/a/b/c?d"))).endsWith("b\n");
        assertThat(http.response(bound, get("/a"))).endsWith("all\n");
        server.show(List.of());
        assertThat(http.response(bound, get("/a/b"))).startsWith("HTTP/1.1 404 ");
    }

    @Test
    void servesOtherPagesWhileSomeHang() throws Exception {
        String address = "127.0.0.1:0";
        CountDownLatch end = new CountDownLatch(1);
        AtomicInteger calls = new AtomicInteger();
        HostedPages hanging = hosted("/hanging", address, request -> {
            calls.incrementAndGet();
            end.await();
            return Page.text(200, "late");
        });
        PageServer server = http.server(address);
        server.show(List.of(hanging, hosted("/a", address, request -> Page.text(200, "a"))));
        SocketAddress bound = awaitBound(server);
        List<SocketChannel> clients = new ArrayList<>();
        for (int i = 0; i < WebPages.MAX_CALLS; i++) {
            SocketChannel client = http.connect(bound);
            send(client, get("/hanging"));
            clients.add(client);
        }
        Waits.until("all of them hang", () -> calls.get() == WebPages.MAX_CALLS);
        SocketChannel next = http.connect(bound);
        send(next, get("/hanging"));
        assertThat(http.response(bound, get("/a"))).endsWith("a\n");
        assertThat(calls).as("concurrent calls of one service").hasValue(WebPages.MAX_CALLS);
        end.countDown();
        clients.add(next);
        for (SocketChannel client : clients) {
            assertThat(rest(client)).endsWith("late\n");
        }
    }

    @Test
    void waitsForCallsWhenPagesGo() throws Exception {
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        HostedPages pages = hosted("/a", "127.0.0.1:0", request -> {
            inside.countDown();
            end.await();
            return Page.text(200, "in time");
        });
        PageServer server = http.server("127.0.0.1:0");
        server.show(List.of(pages));
        SocketChannel client = http.connect(awaitBound(server));
        send(client, get("/a"));
        inside.await();
        CompletableFuture<Boolean> closing = CompletableFuture.supplyAsync(pages::close);
        assertThat(closing.isDone()).as("closed while a call is in flight").isFalse();
        end.countDown();
        assertThat(closing.get()).as("all calls ended").isTrue();
        assertThat(rest(client)).endsWith("in time\n");
        assertThat(http.response(awaitBound(server), get("/a"))).startsWith("HTTP/1.1 404 ");
    }
}
