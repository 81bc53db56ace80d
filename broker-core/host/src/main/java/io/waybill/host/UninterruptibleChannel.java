package io.waybill.host;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.OpenOption;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import org.agrona.BufferUtil;

/**
 * File channel that an interrupt of its thread neither closes nor disturbs. The JDK's own channel closes itself, and
 * ends the read or write, when a thread with a pending interrupt uses it; threads with an interrupt for something else
 * use this one.
 *
 * <p><b>Threads.</b> Thread-safe. <b>Ownership.</b> Owns its file; its opener closes it. <b>Memory.</b> Off the heap,
 * at most {@value #PIECE_BYTES} bytes until it is closed.
 */
final class UninterruptibleChannel extends FileChannel {

    private static final int PIECE_BYTES = 1 << 16;

    private final NativeFile file;
    // guarded by this
    private ByteBuffer piece; // null before the first one on the heap
    private long position;
    private FileChannel locking; // null before the first lock

    UninterruptibleChannel(NativeFile file) {
        this.file = file;
    }

    @Override
    public synchronized int read(ByteBuffer into) throws IOException {
        int read = read(into, position);
        position += Math.max(0, read);
        return read;
    }

    @Override
    public long read(ByteBuffer[] into, int offset, int length) throws IOException {
        long all = 0;
        for (int i = offset; i < offset + length; i++) {
            int read = into[i].hasRemaining() ? read(into[i]) : 0;
            if (read < 0) {
                return all == 0 ? -1 : all;
            }
            all += read;
        }
        return all;
    }

    @Override
    public synchronized int read(ByteBuffer into, long at) throws IOException {
        requireOpen();
        if (!into.hasRemaining()) {
            return 0;
        }
        int read;
        if (into.isDirect()) {
            read = (int) file.readAt(BufferUtil.address(into) + into.position(), into.remaining(), at);
            into.position(into.position() + read);
        } else {
            ByteBuffer part = piece(into.remaining());
            read = (int) file.readAt(BufferUtil.address(part), part.limit(), at);
            into.put(part.limit(read));
        }
        return read == 0 ? -1 : read;
    }

    @Override
    public synchronized int write(ByteBuffer from) throws IOException {
        int written = write(from, position);
        position += written;
        return written;
    }

    @Override
    public long write(ByteBuffer[] from, int offset, int length) throws IOException {
        long all = 0;
        for (int i = offset; i < offset + length; i++) {
            while (from[i].hasRemaining()) {
                all += write(from[i]);
            }
        }
        return all;
    }

    @Override
    public synchronized int write(ByteBuffer from, long at) throws IOException {
        requireOpen();
        if (!from.hasRemaining()) {
            return 0;
        }
        int before = from.position();
        int written;
        if (from.isDirect()) {
            written = (int) file.writeAt(BufferUtil.address(from) + before, from.remaining(), at);
        } else {
            ByteBuffer part = piece(from.remaining());
            part.put(0, from, before, part.limit());
            written = (int) file.writeAt(BufferUtil.address(part), part.limit(), at);
        }
        from.position(before + written);
        return written;
    }

    /** Returns memory for a part of the bytes that are read or written. */
    private ByteBuffer piece(int bytes) {
        int length = Math.min(PIECE_BYTES, bytes);
        if (piece == null || piece.capacity() < length) {
            freePiece();
            piece = ByteBuffer.allocateDirect(length);
        }
        return piece.clear().limit(length);
    }

    private void freePiece() {
        if (piece != null) {
            BufferUtil.free(piece);
            piece = null;
        }
    }

    @Override
    public synchronized long position() throws IOException {
        requireOpen();
        return position;
    }

    @Override
    public synchronized FileChannel position(long at) throws IOException {
        requireOpen();
        if (at < 0) {
            throw new IllegalArgumentException("position: expected at least 0, found " + at);
        }
        position = at;
        return this;
    }

    @Override
    public synchronized long size() throws IOException {
        requireOpen();
        return file.size();
    }

    @Override
    public synchronized FileChannel truncate(long size) throws IOException {
        requireOpen();
        if (size < file.size()) {
            file.truncate(size);
        }
        position = Math.min(position, size);
        return this;
    }

    @Override
    public synchronized void force(boolean metadata) throws IOException {
        requireOpen();
        if (metadata) {
            file.sync();
        } else {
            file.dataSync();
        }
    }

    @Override
    public long transferTo(long at, long count, WritableByteChannel target) throws IOException {
        ByteBuffer part = ByteBuffer.allocate((int) Math.min(PIECE_BYTES, count));
        long all = 0;
        while (all < count && read(part.clear().limit((int) Math.min(PIECE_BYTES, count - all)), at + all) > 0) {
            part.flip();
            while (part.hasRemaining()) {
                all += target.write(part);
            }
        }
        return all;
    }

    @Override
    public long transferFrom(ReadableByteChannel source, long at, long count) throws IOException {
        ByteBuffer part = ByteBuffer.allocate((int) Math.min(PIECE_BYTES, count));
        long all = 0;
        while (all < count && source.read(part.clear().limit((int) Math.min(PIECE_BYTES, count - all))) > 0) {
            part.flip();
            while (part.hasRemaining()) {
                all += write(part, at + all);
            }
        }
        return all;
    }

    /** Maps a range through a JDK channel. */
    @Override
    public MappedByteBuffer map(MapMode mode, long at, long size) throws IOException {
        requireOpen();
        return NativeFile.uninterrupted(() -> {
            try (FileChannel mapping = FileChannel.open(file.descriptorPath(), access(mode))) {
                return mapping.map(mode, at, size);
            }
        });
    }

    private static Set<OpenOption> access(MapMode mode) {
        return mode == MapMode.READ_ONLY
                ? Set.of(StandardOpenOption.READ)
                : Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE);
    }

    /**
     * Acquires a lock through a JDK channel, without a wait, so that no interrupt disturbs it. The lock is released at
     * the latest when this channel is closed.
     */
    @Override
    public synchronized FileLock tryLock(long at, long size, boolean shared) throws IOException {
        requireOpen();
        if (locking == null) {
            locking = FileChannel.open(
                    file.descriptorPath(), shared ? Set.of(StandardOpenOption.READ) : access(MapMode.READ_WRITE));
        }
        return locking.tryLock(at, size, shared);
    }

    @Override
    public FileLock lock(long at, long size, boolean shared) {
        throw new UnsupportedOperationException("a wait for a lock; use tryLock");
    }

    private void requireOpen() throws ClosedChannelException {
        if (!isOpen()) {
            throw new ClosedChannelException();
        }
    }

    @Override
    protected void implCloseChannel() throws IOException {
        synchronized (this) { // after the thread that is inside
            freePiece();
            file.close();
            if (locking != null) {
                locking.close();
            }
        }
    }
}
