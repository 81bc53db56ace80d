package io.waybill.bench.call;

import io.waybill.bench.process.ChildProcess;
import java.io.EOFException;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;

/**
 * A server that does what the called handler does, over Unix-domain sockets: it reads a message of the known size,
 * works, and writes it back, one message after the other. With one client it blocks in its read; with several it waits
 * for all of them at a selector, which is epoll. Persists nothing and frames nothing.
 */
public final class SocketEcho {

    public static final String ROLE = "socket-echo";
    public static final String SELECTOR_ROLE = "socket-selector-echo";

    private SocketEcho() {}

    static UnixDomainSocketAddress address(String directory) {
        return UnixDomainSocketAddress.of(Path.of(directory, "socket"));
    }

    private static ServerSocketChannel listen(String directory) throws IOException {
        ChildProcess.endWithParent();
        ServerSocketChannel listening = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        listening.bind(address(directory));
        return listening;
    }

    /** For one client. Arguments: see {@link MeasuredSystem}. */
    public static void run(String[] arguments) throws IOException {
        CallLoad load = CallLoad.parse(arguments[1]);
        byte[] message = new byte[load.sizeBytes()];
        ByteBuffer buffer = ByteBuffer.allocateDirect(message.length);
        try (ServerSocketChannel listening = listen(arguments[0])) {
            ChildProcess.ready();
            try (SocketChannel client = listening.accept()) {
                while (true) { // until it is ended
                    read(client, buffer, message);
                    load.work().perform(message);
                    write(client, buffer, message);
                }
            }
        }
    }

    /** Fills a message with the next bytes of a blocking channel. */
    static void read(SocketChannel from, ByteBuffer buffer, byte[] message) throws IOException {
        buffer.clear();
        while (buffer.hasRemaining()) {
            if (from.read(buffer) < 0) {
                throw new EOFException("the other process ended");
            }
        }
        buffer.flip().get(message);
    }

    static void write(SocketChannel to, ByteBuffer buffer, byte[] message) throws IOException {
        buffer.clear().put(message).flip();
        while (buffer.hasRemaining()) {
            to.write(buffer);
        }
    }

    /** For several clients. Arguments: see {@link MeasuredSystem}. */
    public static void runSelector(String[] arguments) throws IOException {
        CallLoad load = CallLoad.parse(arguments[1]);
        try (ServerSocketChannel listening = listen(arguments[0]);
                Selector selector = Selector.open()) {
            listening.configureBlocking(false).register(selector, SelectionKey.OP_ACCEPT);
            ChildProcess.ready();
            byte[] message = new byte[load.sizeBytes()];
            while (true) { // until it is ended
                selector.select(key -> {
                    try {
                        serve(key, load, message);
                    } catch (IOException e) {
                        key.cancel(); // the client has ended
                    }
                });
            }
        }
    }

    private static void serve(SelectionKey key, CallLoad load, byte[] message) throws IOException {
        if (key.isAcceptable()) {
            SocketChannel client = ((ServerSocketChannel) key.channel()).accept();
            client.configureBlocking(false)
                    .register(key.selector(), SelectionKey.OP_READ, ByteBuffer.allocateDirect(load.sizeBytes()));
            return;
        }
        SocketChannel client = (SocketChannel) key.channel();
        ByteBuffer buffer = (ByteBuffer) key.attachment();
        if (client.read(buffer) < 0) {
            throw new EOFException("the client ended");
        }
        if (!buffer.hasRemaining()) {
            buffer.flip().get(message);
            load.work().perform(message);
            write(client, buffer, message); // one that is larger than the socket's buffer is read meanwhile
            buffer.clear();
        }
    }
}
