package io.waybill.cli.journal;

import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Storage of any size in a temporary file, written once from the start and then read in parts through a window. For one
 * thread. Its creator closes it, which removes the file.
 */
final class SpooledStorage implements Storage, Closeable {

    private static final int WINDOW_BYTES = 1 << 20;

    private final FileChannel channel;
    private final long sizeBytes;
    private ByteBuffer window = ByteBuffer.allocate(0);
    private long windowAt;

    private SpooledStorage(FileChannel channel, long sizeBytes) {
        this.channel = channel;
        this.sizeBytes = sizeBytes;
    }

    static SpooledStorage create(Path file, long sizeBytes) throws IOException {
        return new SpooledStorage(
                FileChannel.open(
                        file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE, StandardOpenOption.READ),
                sizeBytes);
    }

    void append(ByteBuffer piece) throws IOException {
        while (piece.hasRemaining()) {
            channel.write(piece);
        }
    }

    @Override
    public Device device() {
        return Device.CPU;
    }

    @Override
    public long sizeBytes() {
        return sizeBytes;
    }

    @Override
    public long address() {
        throw new IllegalStateException("the bytes are in a file");
    }

    @Override
    public ByteBuffer bytes(long offset, int length) {
        if (offset < 0 || length < 0 || offset > sizeBytes - length) {
            throw new IndexOutOfBoundsException(
                    "a part of " + length + " bytes at " + offset + " does not lie inside " + sizeBytes + " bytes");
        }
        if (offset < windowAt || offset + length > windowAt + window.limit()) {
            fill(offset, Math.max(length, WINDOW_BYTES));
        }
        return window.slice((int) (offset - windowAt), length).order(ByteOrder.nativeOrder());
    }

    private void fill(long offset, int length) {
        window = ByteBuffer.allocate((int) Math.min(length, sizeBytes - offset));
        windowAt = offset;
        try {
            while (window.hasRemaining()) {
                if (channel.read(window, offset + window.position()) < 0) {
                    throw new EOFException("expected " + sizeBytes + " bytes, found " + channel.size());
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        window.flip();
    }

    @Override
    public Storage retain() {
        return this;
    }

    @Override
    public void release() {
        // its creator closes it
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
