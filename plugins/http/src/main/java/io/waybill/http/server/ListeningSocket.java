package io.waybill.http.server;

import io.waybill.http.ListenAddress;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;

/**
 * Socket that accepts connections, and its file if it is a Unix socket, which its user alone can open.
 *
 * <p><b>Threads.</b> Any.
 */
final class ListeningSocket implements Closeable {

    private static final int BACKLOG = 64;

    private final ServerSocketChannel channel;
    private final SocketAddress bound;

    /**
     * Listens. Replaces the socket file of a process that has ended.
     *
     * @throws IOException if the address is in use, or its path is that of a file that is no socket
     */
    ListeningSocket(ListenAddress address) throws IOException {
        SocketAddress socket = address.socket();
        Path file = file(socket);
        if (file != null && isLeft(file)) {
            Files.deleteIfExists(file);
        }
        channel = file == null ? ServerSocketChannel.open() : ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        try {
            channel.configureBlocking(false);
            channel.bind(socket, BACKLOG);
            if (file != null) {
                Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
            }
            bound = channel.getLocalAddress();
        } catch (IOException | RuntimeException e) {
            channel.close();
            throw e;
        }
    }

    /** Returns the path of a Unix socket; null for a port. */
    private static Path file(SocketAddress socket) {
        return socket instanceof UnixDomainSocketAddress unix ? unix.getPath() : null;
    }

    /** Returns whether the path is a socket that no process listens on. */
    private static boolean isLeft(Path file) throws IOException {
        if (!Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
            return false;
        }
        if (!Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
                .isOther()) {
            throw new IOException(file + " is a file, and no socket");
        }
        try (SocketChannel peer = SocketChannel.open(UnixDomainSocketAddress.of(file))) {
            return !peer.isConnected();
        } catch (IOException e) {
            return true;
        }
    }

    /** Returns the address, with the port that was chosen if none was asked for. */
    SocketAddress bound() {
        return bound;
    }

    /** Returns whether it accepts connections. */
    boolean isOpen() {
        return channel.isOpen();
    }

    /** Returns the channel, which does not block. */
    ServerSocketChannel channel() {
        return channel;
    }

    /** Closes it, and removes the file of a Unix socket. */
    @Override
    public void close() throws IOException {
        Path file = file(bound);
        if (file != null) {
            Files.deleteIfExists(file); // first: later it may be that of another process
        }
        channel.close();
    }

    @Override
    public String toString() {
        return bound instanceof InetSocketAddress inet
                ? inet.getAddress().getHostAddress() + ":" + inet.getPort()
                : bound.toString();
    }
}
