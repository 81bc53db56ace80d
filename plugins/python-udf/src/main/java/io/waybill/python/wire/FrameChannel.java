package io.waybill.python.wire;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.concurrent.TimeUnit;

/**
 * A socket as a sequence of frames. A writer never waits: what the socket has no room for is written by the reading
 * thread, up to {@value #MAX_QUEUED} bytes; a process that does not read is disconnected then.
 *
 * <p><b>Threads.</b> One reads, any write and close.
 */
public final class FrameChannel implements AutoCloseable {

    private static final long MAX_QUEUED = 1L << 28;
    private static final int CHUNK = 1 << 16;
    private static final int FIRST_ALLOCATION = 1 << 20;

    private final SocketChannel channel;
    private final Selector selector;
    private final SelectionKey key;
    private final ByteBuffer in =
            ByteBuffer.allocateDirect(CHUNK).order(ByteOrder.LITTLE_ENDIAN).limit(0); // the reader's
    private final Deque<ByteBuffer> queued = new ArrayDeque<>(); // guarded by itself
    private long queuedBytes; // guarded by queued
    private boolean closed; // guarded by queued

    /** Creates a channel, and takes ownership of a connected socket. */
    public FrameChannel(SocketChannel channel) throws IOException {
        this.channel = channel;
        channel.configureBlocking(false);
        this.selector = Selector.open();
        SelectionKey registered = null;
        try {
            registered = channel.register(selector, SelectionKey.OP_READ);
        } finally {
            if (registered == null) {
                selector.close();
            }
        }
        this.key = registered;
    }

    /**
     * Reads the next frame.
     *
     * @param maxBody max length; a longer frame is refused before it is read
     * @param limitMs max wait; 0 for indefinitely
     * @return null at the end of the connection
     * @throws ProtocolException if the bytes are no frame, or none arrived in time
     */
    public SocketFrame read(int maxBody, long limitMs) throws IOException {
        long untilNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(limitMs);
        while (in.remaining() < SocketFrame.HEAD) {
            if (!fill(limitMs == 0 ? Long.MAX_VALUE : untilNs)) {
                if (in.hasRemaining()) {
                    throw new ProtocolException("the connection ends inside the head of a frame");
                }
                return null;
            }
        }
        int length = in.getInt();
        SocketFrame.Kind kind = SocketFrame.Kind.of(in.get());
        int zero = in.get() | in.getShort();
        long exchange = in.getLong();
        if (zero != 0) {
            throw new ProtocolException("bytes 5 to 7 of a frame's head are 0");
        }
        if (length < 0 || length > maxBody) {
            throw new ProtocolException("a frame's body has at most " + maxBody + " bytes here, and " + kind
                    + " says that it has " + Integer.toUnsignedString(length));
        }
        byte[] body = new byte[Math.min(length, FIRST_ALLOCATION)];
        int read = 0;
        while (read < length) {
            if (!in.hasRemaining() && !fill(limitMs == 0 ? Long.MAX_VALUE : untilNs)) {
                throw new ProtocolException("the connection ends inside a frame: " + read + " bytes of " + length);
            }
            int part = Math.min(in.remaining(), length - read);
            if (read + part > body.length) { // allocates only for bytes that have arrived
                body = Arrays.copyOf(body, (int) Math.min(length, 2L * body.length));
                part = Math.min(part, body.length - read);
            }
            in.get(body, read, part);
            read += part;
        }
        return new SocketFrame(kind, exchange, ByteBuffer.wrap(body).order(ByteOrder.LITTLE_ENDIAN));
    }

    /** Reads available bytes, and writes queued frames meanwhile; returns false at the end. */
    private boolean fill(long untilNs) throws IOException {
        in.compact();
        try {
            while (true) {
                int read = channel.read(in);
                if (read != 0) {
                    return read > 0;
                }
                await(untilNs);
            }
        } finally {
            in.flip();
        }
    }

    private void await(long untilNs) throws IOException {
        synchronized (queued) {
            if (closed) {
                throw new IOException("the connection is closed");
            }
            key.interestOps(queued.isEmpty() ? SelectionKey.OP_READ : SelectionKey.OP_READ | SelectionKey.OP_WRITE);
        }
        long leftMs = untilNs == Long.MAX_VALUE ? 0 : TimeUnit.NANOSECONDS.toMillis(untilNs - System.nanoTime()) + 1;
        if (leftMs < 0) {
            throw new ProtocolException("no frame came in time");
        }
        try {
            selector.select(leftMs);
            selector.selectedKeys().clear();
        } catch (ClosedSelectorException e) {
            throw new IOException("the connection is closed", e);
        }
        Thread.interrupted(); // an interrupt is not for a reader, and would end each further wait
        synchronized (queued) {
            flush();
        }
    }

    /** Writes queued frames, under the lock. */
    private void flush() throws IOException {
        while (!queued.isEmpty()) {
            ByteBuffer first = queued.peek();
            queuedBytes -= channel.write(first);
            if (first.hasRemaining()) {
                return;
            }
            queued.remove();
        }
    }

    /**
     * Writes a frame, immediately or from a queue. Takes ownership of the buffer. Drops the frame if the connection has
     * ended.
     */
    public void write(ByteBuffer frame) {
        synchronized (queued) {
            if (closed) {
                return;
            }
            try {
                if (queued.isEmpty()) {
                    channel.write(frame);
                }
                if (!frame.hasRemaining()) {
                    return;
                }
                queuedBytes += frame.remaining();
                queued.add(frame);
                if (queuedBytes <= MAX_QUEUED) {
                    selector.wakeup();
                    return;
                }
            } catch (IOException e) {
                // the reader finds the connection closed
            }
        }
        close();
    }

    /** Writes a last frame, as far as the socket accepts it immediately, and closes. */
    public void closeWith(ByteBuffer frame) {
        write(frame);
        close();
    }

    @Override
    public void close() {
        synchronized (queued) {
            if (closed) {
                return;
            }
            closed = true;
            queued.clear();
        }
        try {
            channel.close();
            selector.close();
        } catch (IOException e) {
            // the connection is useless in any case
        }
    }
}
