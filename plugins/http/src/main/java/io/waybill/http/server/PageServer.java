package io.waybill.http.server;

import io.waybill.http.ListenAddress;
import io.waybill.http.Page;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.SocketAddress;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.eclipse.jetty.io.ArrayByteBufferPool;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.handler.ErrorHandler;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import org.eclipse.jetty.util.thread.ScheduledExecutorScheduler;

/**
 * Server of the pages at one address: HTTP/1.1, one request per connection.
 *
 * <p><b>Threads.</b> One keeps the server: while the address is in use it retries every {@value #RETRY_S} s, so that one
 * of several nodes with the same address serves it, and it starts a failed server again. At most {@value #MAX_THREADS}
 * accept connections and call pages. All are daemons.
 */
final class PageServer implements AutoCloseable {

    /** Max size of a request's first lines, in bytes. */
    static final int MAX_HEAD_BYTES = 8192;

    /** Prefix of the names of its threads. */
    static final String THREADS = "waybill-http-";

    private static final Logger LOG = System.getLogger(PageServer.class.getName());
    private static final int MAX_THREADS = 16;
    private static final int MIN_THREADS = 3;
    private static final int MAX_POOLED_BYTES = 1 << 20;
    private static final long IDLE_MS = 10_000;
    private static final long STOP_MS = 10_000;
    private static final long CLOSE_S = 12;
    private static final long RETRY_S = 5;
    private static final long CHECK_MS = 1_000;

    private final ListenAddress address;
    private volatile List<HostedPages> pages; // immutable
    private final Thread keeper;
    private boolean closed; // guarded by this
    private volatile SocketAddress bound; // null while it does not serve; written by the keeper
    private ListeningSocket socket; // null while it does not serve; owned by the keeper, as is the server
    private Server server;

    /**
     * Starts serving pages.
     *
     * @throws IOException if the host refuses a thread
     */
    PageServer(ListenAddress address, List<HostedPages> pages) throws IOException {
        this.address = address;
        this.pages = pages;
        keeper = new Thread(this::run, THREADS + "keeper");
        keeper.setDaemon(true);
        keeper.setContextClassLoader(PageServer.class.getClassLoader()); // Jetty finds its services by it
        try {
            keeper.start();
        } catch (OutOfMemoryError e) { // the host refuses a thread
            throw new IOException("no thread for the server at " + address + ": " + e.getMessage(), e);
        }
    }

    /**
     * Replaces the pages.
     *
     * @param next immutable; of two with a path, the first has it
     */
    void show(List<HostedPages> next) {
        pages = next;
    }

    /** Returns the address that it listens on; empty while another process uses it. */
    Optional<SocketAddress> bound() {
        return Optional.ofNullable(bound);
    }

    private void run() {
        for (boolean isReported = false; !isClosed(); ) {
            try {
                if (server == null) {
                    Thread.interrupted();
                    start();
                    isReported = false;
                } else if (!socket.isOpen() || !server.isRunning()) {
                    stop();
                    continue;
                }
                rest(CHECK_MS);
            } catch (Throwable e) { // after any failure, the next attempt may succeed
                stop();
                LOG.log(
                        isReported ? Level.DEBUG : Level.WARNING,
                        "{0} can''t be served at {1}: {2}; the next attempts are every {3} s",
                        pages,
                        address,
                        e.getMessage() == null ? e : e.getMessage(),
                        RETRY_S);
                LOG.log(Level.DEBUG, "A server could not be started", e);
                isReported = true;
                rest(TimeUnit.SECONDS.toMillis(RETRY_S));
            }
        }
        stop();
    }

    private synchronized boolean isClosed() {
        return closed;
    }

    private synchronized void rest(long ms) {
        try {
            if (!closed) {
                wait(ms);
            }
        } catch (InterruptedException e) { // has another purpose
            LOG.log(Level.DEBUG, "The wait of a server was interrupted");
        }
    }

    private void start() throws Exception {
        socket = new ListeningSocket(address);
        QueuedThreadPool threads = new QueuedThreadPool(MAX_THREADS, MIN_THREADS, (int) IDLE_MS);
        threads.setName(THREADS + "pages");
        threads.setDaemon(true);
        threads.setStopTimeout(STOP_MS);
        server = new Server(
                threads,
                new ScheduledExecutorScheduler(THREADS + "timer", true),
                new ArrayByteBufferPool(-1, -1, -1, -1, MAX_POOLED_BYTES, MAX_POOLED_BYTES));
        server.addConnector(new SocketConnector(server, socket, new HttpConnectionFactory(configuration())));
        server.setErrorHandler(new PlainErrors());
        server.setHandler(new PageHandler(() -> pages));
        server.start();
        bound = socket.bound();
        LOG.log(Level.INFO, "{0} are served at {1}", pages, socket);
    }

    private static HttpConfiguration configuration() {
        HttpConfiguration configuration = new HttpConfiguration();
        configuration.setRequestHeaderSize(MAX_HEAD_BYTES);
        configuration.setPersistentConnectionsEnabled(false);
        configuration.setSendServerVersion(false);
        configuration.setUseInputDirectByteBuffers(false);
        configuration.setUseOutputDirectByteBuffers(false);
        return configuration;
    }

    private void stop() {
        Thread.interrupted(); // an interrupt, which has another purpose, would cut this short
        bound = null;
        close(socket == null ? () -> {} : socket);
        socket = null;
        close(server == null ? () -> {} : server::stop);
        server = null;
    }

    private static void close(AutoCloseable part) {
        try {
            part.close();
        } catch (Throwable e) { // the others are closed all the same
            LOG.log(Level.DEBUG, "A part of a server could not be closed", e);
        }
    }

    /** Closes the address and all connections, and waits for its threads, at most {@value #CLOSE_S} s. */
    @Override
    public void close() {
        synchronized (this) {
            closed = true;
            notifyAll();
        }
        try {
            keeper.join(TimeUnit.SECONDS.toMillis(CLOSE_S));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Errors that Jetty finds, as a line of text. */
    private static final class PlainErrors extends ErrorHandler {

        @Override
        protected void generateResponse(
                Request request, Response response, int code, String message, Throwable cause, Callback callback) {
            PageHandler.write(response, callback, Page.text(code, message));
        }
    }
}
