package io.waybill.metrics.http;

import io.waybill.metrics.http.RequestHead.MalformedHeadException;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;

/**
 * One connection of an endpoint: a request, a response, and the end.
 *
 * <p><b>Threads.</b> The endpoint's.
 */
final class Connection {

    /** Max size of a request's first lines, in bytes. */
    static final int MAX_HEAD_BYTES = 8192;

    private static final Logger LOG = System.getLogger(Connection.class.getName());

    private final SocketChannel channel;
    private final SelectionKey key;
    private final PageSource pages;
    private final long sinceNs;
    private final ByteBuffer in = ByteBuffer.allocate(MAX_HEAD_BYTES);
    private ByteBuffer out; // null until there is a response

    Connection(SocketChannel channel, SelectionKey key, PageSource pages, long sinceNs) {
        this.channel = channel;
        this.key = key;
        this.pages = pages;
        this.sinceNs = sinceNs;
    }

    boolean isOpen() {
        return channel.isOpen();
    }

    long sinceNs() {
        return sinceNs;
    }

    /** Reads and writes as far as the client is ready, and closes after the response. */
    void proceed() {
        try {
            if (out == null) {
                read();
            }
            if (out != null) {
                write();
            }
        } catch (IOException e) {
            close(); // the client has disconnected
        } catch (RuntimeException e) {
            LOG.log(Level.WARNING, "A connection failed, and is closed", e);
            close();
        }
    }

    private void read() throws IOException {
        if (channel.read(in) < 0) {
            close();
            return;
        }
        try {
            RequestHead head = RequestHead.of(in.array(), in.position());
            if (head != null) {
                respond(head.method(), page(head));
            } else if (!in.hasRemaining()) {
                respond(
                        "GET",
                        Page.text(
                                "431 Request Header Fields Too Large",
                                "a request has at most " + MAX_HEAD_BYTES + " bytes"));
            }
        } catch (MalformedHeadException e) {
            respond("GET", Page.text("400 Bad Request", "this is no request of HTTP/1.1"));
        }
    }

    private Page page(RequestHead head) {
        if (!head.method().equals("GET") && !head.method().equals("HEAD")) {
            return Page.text("405 Method Not Allowed", "only GET and HEAD");
        }
        if (!head.isForThisHost()) {
            return Page.text("403 Forbidden", "the request is for another host: use localhost or an address");
        }
        try {
            Page page = pages.page(head.path(), head.accept());
            return page == null ? Page.text("404 Not Found", "there are /metrics and /healthz") : page;
        } catch (Throwable e) { // includes errors of the page source
            LOG.log(Level.WARNING, "A page could not be made: {0}", head.path());
            LOG.log(Level.DEBUG, "A page could not be made", e);
            return Page.text("500 Internal Server Error", "the figures can't be read; the node's log says why");
        }
    }

    private void respond(String method, Page page) {
        byte[] head = ("HTTP/1.1 " + page.status() + "\r\nContent-Type: " + page.type() + "\r\nContent-Length: "
                        + page.body().length + "\r\nConnection: close\r\nX-Content-Type-Options: nosniff\r\n\r\n")
                .getBytes(StandardCharsets.ISO_8859_1);
        byte[] body = method.equals("HEAD") ? new byte[0] : page.body();
        out = ByteBuffer.allocate(head.length + body.length).put(head).put(body).flip();
        key.interestOps(SelectionKey.OP_WRITE);
    }

    private void write() throws IOException {
        channel.write(out);
        if (!out.hasRemaining()) {
            channel.shutdownOutput();
            close();
        }
    }

    void close() {
        key.cancel();
        try {
            channel.close();
        } catch (IOException e) {
            LOG.log(Level.DEBUG, "A connection could not be closed", e);
        }
    }
}
