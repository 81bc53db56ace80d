package io.waybill.metrics.http;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Server of pages over HTTP/1.1 with one thread, which never waits for a client. A connection has one request. It is
 * closed after {@value #LIMIT_S} s, or if {@value #MAX_CONNECTIONS} newer ones exist.
 *
 * <p><b>Threads.</b> One separate thread. While the address is in use it retries every {@value #RETRY_S} s, so that one
 * of several nodes with the same address serves it. <b>Errors.</b> A failed connection is closed; after any other
 * failure the server closes all connections and restarts.
 */
public final class HttpEndpoint implements AutoCloseable {

    /** Max number of concurrent connections. */
    static final int MAX_CONNECTIONS = 32;

    private static final Logger LOG = System.getLogger(HttpEndpoint.class.getName());
    private static final long LIMIT_S = 10;
    private static final long RETRY_S = 5;
    private static final long LOOK_MS = 1000;

    private final ListenAddress address;
    private final PageSource pages;
    private final Selector selector;
    private final Thread thread;
    private final Deque<Connection> connections = new ArrayDeque<>(); // oldest first; owned by the thread
    private volatile boolean closed; // set by close, read by the thread
    private volatile SocketAddress bound; // set by the thread, read by tests and the log; null while there is none

    /**
     * Starts serving.
     *
     * @throws IOException if the process has no descriptors left
     */
    public HttpEndpoint(ListenAddress address, PageSource pages) throws IOException {
        this.address = address;
        this.pages = pages;
        this.selector = Selector.open();
        this.thread = new Thread(this::run, "waybill-metrics-http");
        thread.setDaemon(true);
        try {
            thread.start();
        } catch (OutOfMemoryError e) { // the host refuses a thread
            selector.close();
            throw new IOException("no thread for the metrics endpoint at " + address + ": " + e.getMessage(), e);
        }
    }

    /** Returns the address that it listens on; empty while another process uses it. */
    public Optional<SocketAddress> bound() {
        return Optional.ofNullable(bound);
    }

    /** Serves until this object is closed. Restarts after a failure, the first of which is reported. */
    private void run() {
        for (boolean isReported = false; !closed; ) {
            try {
                serveOnce();
            } catch (ClosedByInterruptException e) {
                Thread.interrupted(); // the interrupt closed the channel: another one follows immediately
            } catch (Throwable e) { // after any failure, the next attempt may succeed
                LOG.log(
                        isReported ? Level.DEBUG : Level.ERROR,
                        "The endpoint at " + address + " failed, and begins again every " + RETRY_S + " s: " + e,
                        e);
                isReported = true;
                rest();
            }
        }
        try {
            selector.close();
        } catch (IOException e) {
            LOG.log(Level.DEBUG, "A selector could not be closed", e);
        }
    }

    private void serveOnce() throws IOException {
        ServerSocketChannel server = open();
        if (server != null) {
            try (server) {
                serve(server);
            } finally {
                bound = null;
                connections.forEach(Connection::close);
                connections.clear();
                address.cleanUp();
            }
        }
    }

    private void rest() {
        try {
            awaitReady(TimeUnit.SECONDS.toMillis(RETRY_S));
        } catch (IOException e) {
            LOG.log(Level.DEBUG, "A wait failed", e);
        }
    }

    /** Waits for a new or ready client. Clears an interrupt, which has another purpose and would close the channels. */
    private void awaitReady(long ms) throws IOException {
        selector.select(ms);
        Thread.interrupted();
    }

    /** Formats an address in the form of the settings. */
    private static String shown(SocketAddress address) {
        return address instanceof InetSocketAddress inet
                ? inet.getAddress().getHostAddress() + ":" + inet.getPort()
                : address.toString();
    }

    /** Waits until the address is free, and returns the channel; null if this object is closed first. */
    private ServerSocketChannel open() throws IOException {
        for (boolean isSaid = false; !closed; isSaid = true) {
            try {
                ServerSocketChannel server = address.open();
                bound = server.getLocalAddress();
                LOG.log(Level.INFO, "Metrics are served at " + shown(bound));
                return server;
            } catch (IOException e) {
                if (!isSaid) {
                    LOG.log(
                            Level.WARNING,
                            "Metrics can''t be served at {0}: {1}; the next attempts are every {2} s",
                            address,
                            e.getMessage(),
                            RETRY_S);
                }
            }
            awaitReady(TimeUnit.SECONDS.toMillis(RETRY_S));
        }
        return null;
    }

    private void serve(ServerSocketChannel server) throws IOException {
        server.register(selector, SelectionKey.OP_ACCEPT);
        while (!closed) {
            awaitReady(LOOK_MS);
            for (SelectionKey key : selector.selectedKeys()) {
                if (key.attachment() instanceof Connection connection) {
                    connection.proceed();
                } else {
                    accept(server);
                }
            }
            selector.selectedKeys().clear();
            closeLate();
        }
    }

    private void accept(ServerSocketChannel server) throws ClosedByInterruptException {
        try {
            SocketChannel client = server.accept();
            if (client == null) {
                return;
            }
            client.configureBlocking(false);
            SelectionKey key = client.register(selector, SelectionKey.OP_READ);
            Connection connection = new Connection(client, key, pages, System.nanoTime());
            key.attach(connection);
            connections.add(connection);
        } catch (ClosedByInterruptException e) {
            throw e;
        } catch (IOException e) {
            LOG.log(Level.DEBUG, "A connection could not be accepted", e);
            connections.forEach(Connection::close); // most likely because no descriptors are left
        }
    }

    private void closeLate() {
        connections.removeIf(connection -> !connection.isOpen());
        long nowNs = System.nanoTime();
        while (!connections.isEmpty()
                && (connections.size() > MAX_CONNECTIONS
                        || nowNs - connections.peek().sinceNs() > TimeUnit.SECONDS.toNanos(LIMIT_S))) {
            connections.remove().close();
        }
    }

    /**
     * Closes the address and all connections, and waits for its thread, unless it is blocked on a disk that does not
     * respond.
     */
    @Override
    public void close() {
        closed = true;
        selector.wakeup();
        try {
            thread.join(TimeUnit.SECONDS.toMillis(LIMIT_S));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
