package io.waybill.http;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;

/**
 * Address of a server: a port on the loopback interface, or a Unix socket. Equal if the sockets are.
 *
 * <p>Immutable.
 */
public final class ListenAddress {

    private static final String UNIX = "unix:";
    private static final int MAX_PORT = 65_535;

    private final String text;
    private final SocketAddress socket;

    private ListenAddress(String text, SocketAddress socket) {
        this.text = text;
        this.socket = socket;
    }

    /**
     * Parses {@code PORT}, {@code HOST:PORT} with this host, or {@code unix:} and an absolute path.
     *
     * @throws IllegalArgumentException for any other text, and for an address that other hosts can reach
     */
    public static ListenAddress parse(String text) {
        return new ListenAddress(text, text.startsWith(UNIX) ? unix(text) : port(text));
    }

    private static SocketAddress unix(String text) {
        Path path;
        try {
            path = Path.of(text.substring(UNIX.length()));
        } catch (InvalidPathException e) {
            throw wrong(text, "it has a character that no path has");
        }
        if (!path.isAbsolute()) {
            throw wrong(text, "the path of a Unix socket is absolute");
        }
        return UnixDomainSocketAddress.of(path);
    }

    private static SocketAddress port(String text) {
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
        return new InetSocketAddress(found, number(text, text.substring(colon + 1)));
    }

    private static int number(String text, String digits) {
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

    /** Returns the address of the socket: of type {@link InetSocketAddress} or {@link UnixDomainSocketAddress}. */
    public SocketAddress socket() {
        return socket;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof ListenAddress address && address.socket.equals(socket);
    }

    @Override
    public int hashCode() {
        return socket.hashCode();
    }

    @Override
    public String toString() {
        return text;
    }
}
