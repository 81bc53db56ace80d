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
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import jdk.net.ExtendedSocketOptions;

/**
 * Socket for connections of processes. Each connection of the own uid or root is served on a separate thread; all
 * others are closed unread.
 *
 * <p>Thread-safe.
 */
final class GatewaySocket implements AutoCloseable {

    /** Max length of the path of a Unix socket, in bytes, for the JDK: Linux allows one more. */
    static final int MAX_PATH = 106;

    /** Max number of concurrent connections. */
    static final int MAX_CONNECTIONS = 1_000;

    private static final Logger LOG = System.getLogger(GatewaySocket.class.getName());
    private static final String ROOT = "root";
    private static final long RETRY_MS = 100;

    private final Path path;
    private final Consumer<FrameChannel> serves;
    private final UserPrincipal owner;
    private final Set<FrameChannel> connections = new HashSet<>(); // guarded by itself
    private ServerSocketChannel server; // guarded by connections; replaced by the thread that accepts
    private boolean listening = true; // guarded by connections
    private boolean closed; // guarded by connections

    /**
     * Opens the socket.
     *
     * @param path path of the socket; the socket file of an ended process is replaced
     * @param serves a connection, on a separate thread, until it ends
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
        boolean started = false;
        try {
            owner = Files.getOwner(path, LinkOption.NOFOLLOW_LINKS);
            start("python-gateway", this::accept);
            started = true;
        } finally {
            if (!started) {
                stopListening();
            }
        }
    }

    private static ServerSocketChannel listen(Path path) throws IOException {
        ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        try {
            server.bind(UnixDomainSocketAddress.of(path));
            Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-------"));
            return server;
        } catch (IOException | RuntimeException | Error e) {
            server.close();
            throw e;
        }
    }

    private static void start(String name, Runnable body) {
        Thread thread = new Thread(null, body, name, 0, false);
        thread.setDaemon(true);
        thread.start();
    }

    private void accept() {
        boolean isSaid = false;
        while (isListening()) {
            try {
                SocketChannel client = openServer().accept();
                isSaid = false;
                admitOrClose(client);
            } catch (IOException
                    | RuntimeException
                    | Error e) { // without descriptors any class or file may be unavailable
                if (isListening()) {
                    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(RETRY_MS));
                    isSaid = isSaid || say(e);
                }
            }
        }
    }

    private boolean isListening() {
        synchronized (connections) {
            return listening;
        }
    }

    /** Returns the listening channel; a new one if an interrupt with another purpose has closed it. */
    private ServerSocketChannel openServer() throws IOException {
        Thread.interrupted();
        synchronized (connections) {
            if (listening && !server.isOpen()) {
                Files.deleteIfExists(path);
                server = listen(path);
            }
            return server;
        }
    }

    /** Logs why no process can connect; returns false if logging fails, too. */
    private boolean say(Throwable why) {
        try {
            LOG.log(
                    Level.WARNING,
                    "Python processes can''t connect to {0}: {1}; the next attempts are every {2} ms",
                    path,
                    why.getMessage(),
                    RETRY_MS);
            return true;
        } catch (RuntimeException | Error e) {
            return false;
        }
    }

    private void admitOrClose(SocketChannel client) throws IOException {
        try {
            admit(client);
        } catch (IOException | RuntimeException | Error e) {
            client.close();
            LOG.log(Level.WARNING, "A connection to " + path + " is refused: " + e.getMessage());
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
        boolean started = false;
        try {
            start("python-link", () -> {
                try (channel) {
                    serves.accept(channel);
                } finally {
                    ended(channel);
                }
            });
            started = true;
        } finally {
            if (!started) {
                channel.close();
                ended(channel);
            }
        }
    }

    private void ended(FrameChannel channel) {
        synchronized (connections) {
            connections.remove(channel);
        }
    }

    Path path() {
        return path;
    }

    /** Stops accepting connections. Existing ones continue. */
    void stopListening() throws IOException {
        ServerSocketChannel last;
        synchronized (connections) {
            if (!listening) { // another socket may be at the path
                return;
            }
            listening = false;
            last = server;
        }
        try (last) {
            Files.deleteIfExists(path);
        }
    }

    /** Returns whether it has no connections. */
    boolean isUnused() {
        synchronized (connections) {
            return connections.isEmpty();
        }
    }

    @Override
    public void close() throws IOException {
        Set<FrameChannel> open;
        synchronized (connections) {
            closed = true;
            open = new HashSet<>(connections);
        }
        try {
            stopListening(); // first, because a disconnected process reconnects immediately
        } finally {
            open.forEach(FrameChannel::close);
        }
    }
}
