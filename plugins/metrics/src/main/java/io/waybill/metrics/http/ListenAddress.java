package io.waybill.metrics.http;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;

/**
 * Address of an endpoint: a port on the loopback interface, or a Unix socket.
 *
 * <p>Immutable.
 */
public final class ListenAddress {

    private static final String UNIX = "unix:";
    private static final int BACKLOG = 64;
    private static final int MAX_PORT = 65_535;

    private final String text;
    private final SocketAddress address;
    private final Path socket; // null for a port

    private ListenAddress(String text, SocketAddress address, Path socket) {
        this.text = text;
        this.address = address;
        this.socket = socket;
    }

    /**
     * Parses {@code PORT}, {@code HOST:PORT} with this host, or {@code unix:} and an absolute path.
     *
     * @throws IllegalArgumentException for any other text, and for an address that other hosts can reach
     */
    public static ListenAddress parse(String text) {
        if (text.startsWith(UNIX)) {
            Path path;
            try {
                path = Path.of(text.substring(UNIX.length()));
            } catch (InvalidPathException e) {
                throw wrong(text, "it has a character that no path has");
            }
            if (!path.isAbsolute()) {
                throw wrong(text, "the path of a Unix socket is absolute");
            }
            return new ListenAddress(text, UnixDomainSocketAddress.of(path), path);
        }
        int colon = text.lastIndexOf(':');
        String host = colon < 0 ? "127.0.0.1" : text.substring(0, colon).replaceAll("^\\[|]$", "");
        InetAddress found;
        try {
            found = InetAddress.getByName(host);
        } catch (IOException e) {
            throw wrong(text, "the host is not known");
        }
        if (host.isEmpty() || !found.isLoopbackAddress()) {
            throw wrong(text, "the host is not on the loopback interface; use a proxy to let other hosts reach it");
        }
        return new ListenAddress(text, new InetSocketAddress(found, port(text, text.substring(colon + 1))), null);
    }

    private static int port(String text, String digits) {
        try {
            int port = Integer.parseInt(digits);
            if (port >= 0 && port <= MAX_PORT) {
                return port;
            }
        } catch (NumberFormatException e) {
            // reported below
        }
        throw wrong(text, "a port is a number from 0, for any free one, to " + MAX_PORT);
    }

    private static IllegalArgumentException wrong(String text, String why) {
        return new IllegalArgumentException(
                "listen is a port, a host of the loopback interface and a port (127.0.0.1:9464), or unix: and a path; found "
                        + text + ": " + why);
    }

    /** Opens a listening channel. Replaces the socket file of a process that has ended. */
    ServerSocketChannel open() throws IOException {
        if (socket == null) {
            return bound(ServerSocketChannel.open());
        }
        if (isLeft()) {
            Files.deleteIfExists(socket);
        }
        ServerSocketChannel channel = bound(ServerSocketChannel.open(StandardProtocolFamily.UNIX));
        try {
            Files.setPosixFilePermissions(socket, PosixFilePermissions.fromString("rw-------"));
            return channel;
        } catch (IOException e) {
            channel.close();
            throw e;
        }
    }

    private ServerSocketChannel bound(ServerSocketChannel channel) throws IOException {
        try {
            channel.configureBlocking(false);
            return channel.bind(address, BACKLOG);
        } catch (IOException | RuntimeException e) {
            channel.close();
            throw e;
        }
    }

    /** Returns whether the path is a socket that no process listens on. */
    private boolean isLeft() throws IOException {
        if (!Files.exists(socket, LinkOption.NOFOLLOW_LINKS)) {
            return false;
        }
        if (!Files.readAttributes(socket, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
                .isOther()) {
            throw new IOException(socket + " is a file, and no socket");
        }
        try (SocketChannel peer = SocketChannel.open(address)) {
            return !peer.isConnected();
        } catch (IOException e) {
            return true;
        }
    }

    /** Removes the socket file after the channel was closed. */
    void cleanUp() throws IOException {
        if (socket != null) {
            Files.deleteIfExists(socket);
        }
    }

    @Override
    public String toString() {
        return text;
    }
}
