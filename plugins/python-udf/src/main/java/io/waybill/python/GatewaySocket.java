package io.waybill.python;

import io.waybill.python.wire.FrameChannel;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import jdk.net.ExtendedSocketOptions;

/**
 * The socket that processes connect to. Each connection of the own uid or root is served on a thread of its own; all others are closed unread.
 *
 * <p>Thread-safe.
 */
final class GatewaySocket implements AutoCloseable {

    /** Max length of the path of a Unix socket on Linux, in bytes. */
    static final int MAX_PATH = 107;

    /** Max connections at a time. */
    static final int MAX_CONNECTIONS = 1_000;

    private static final Logger LOG = System.getLogger(GatewaySocket.class.getName());
    private static final String ROOT = "root";
    private static final long REST_MS = 1000;

    private final Path path;
    private final Consumer<FrameChannel> serves;
    private ServerSocketChannel server; // guarded by connections
    private final UserPrincipal owner;
    private final Set<FrameChannel> connections = new HashSet<>(); // guarded by itself
    private boolean closed; // guarded by connections
    private boolean failing; // by the thread that accepts

    /**
     * Listens.
     *
     * @param path of the socket; one that a former process left is replaced
     * @param serves a connection, on a thread of its own, until it ends
     */
    GatewaySocket(Path path, Consumer<FrameChannel> serves) throws IOException {
        this.path = path;
        this.serves = serves;
        if (Files.exists(path, LinkOption.NOFOLLOW_LINKS)
                && !Files.readAttributes(
                                path, java.nio.file.attribute.BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
                        .isOther()) {
            throw new IOException(path + " is a file, and no socket");
        }
        Files.deleteIfExists(path);
        server = listen(path);
        try {
            owner = Files.getOwner(path, LinkOption.NOFOLLOW_LINKS);
            start("python-gateway", this::accept);
        } catch (IOException | RuntimeException | OutOfMemoryError e) { // the last where the host gives no thread
            server.close();
            throw new IOException("the gateway at " + path + " can't listen: " + e.getMessage(), e);
        }
    }

    private static void start(String name, Runnable body) {
        Thread thread = new Thread(null, body, name, 0, false);
        thread.setDaemon(true);
        thread.start();
    }

    private void accept() {
        while (!isClosed()) {
            try {
                acceptNext();
            } catch (Throwable e) { // whatever it is, the next connection may succeed
                if (isClosed()) {
                    return;
                }
                boolean isReported = failing;
                failing = true;
                if (!isReported) {
                    LOG.log(
                            Level.ERROR,
                            "The gateway at " + path + " takes no connection now, and tries again: " + e,
                            e);
                }
                rest();
            }
        }
    }

    private void acceptNext() throws IOException {
        SocketChannel client = openServer().accept();
        try {
            admit(client);
            failing = false;
        } catch (IOException | RuntimeException | Error e) {
            LOG.log(Level.WARNING, "A connection to " + path + " is refused: " + e.getMessage());
            client.close();
        }
    }

    /** Returns the channel that listens: another one when an interrupt, which was for something else, has closed it. */
    private ServerSocketChannel openServer() throws IOException {
        Thread.interrupted();
        synchronized (connections) {
            if (!closed && !server.isOpen()) {
                Files.deleteIfExists(path);
                server = listen(path);
            }
            return server;
        }
    }

    private static ServerSocketChannel listen(Path path) throws IOException {
        ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        try {
            server.bind(UnixDomainSocketAddress.of(path));
            Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-------"));
            return server;
        } catch (IOException | RuntimeException e) {
            server.close();
            throw e;
        }
    }

    private boolean isClosed() {
        synchronized (connections) {
            return closed;
        }
    }

    private static void rest() {
        try {
            TimeUnit.MILLISECONDS.sleep(REST_MS);
        } catch (InterruptedException e) {
            LOG.log(Level.DEBUG, "A rest was interrupted", e);
        }
    }

    private void admit(SocketChannel client) throws IOException {
        UserPrincipal peer = client.getOption(ExtendedSocketOptions.SO_PEERCRED).user();
        if (!peer.equals(owner) && !peer.getName().equals(ROOT)) {
            throw new IOException(
                    "it comes from user " + peer.getName() + ", and the gateway belongs to " + owner.getName());
        }
        FrameChannel channel = new FrameChannel(client);
        synchronized (connections) {
            if (closed || connections.size() >= MAX_CONNECTIONS) {
                channel.close();
                throw new IOException(
                        "there are " + connections.size() + " connections, of at most " + MAX_CONNECTIONS);
            }
            connections.add(channel);
        }
        try {
            start("python-link", () -> serve(channel));
        } catch (OutOfMemoryError e) { // the host gives no thread: the program may connect again
            end(channel);
            throw new IOException("no thread for it: " + e.getMessage(), e);
        }
    }

    private void serve(FrameChannel channel) {
        try {
            serves.accept(channel);
        } finally {
            end(channel);
        }
    }

    private void end(FrameChannel channel) {
        channel.close();
        synchronized (connections) {
            connections.remove(channel);
        }
    }

    Path path() {
        return path;
    }

    @Override
    public void close() throws IOException {
        Set<FrameChannel> open;
        ServerSocketChannel listening;
        synchronized (connections) {
            closed = true;
            open = new HashSet<>(connections);
            listening = server;
        }
        try (listening) {
            open.forEach(FrameChannel::close);
        } finally {
            Files.deleteIfExists(path);
        }
    }
}
