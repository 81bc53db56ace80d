package io.waybill.kept;

import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import java.nio.ByteBuffer;

/** Storage whose bytes only pass by, to be checked: it accepts writes, and keeps nothing. One thread at a time. */
final class PassedBytes implements Storage {

    private final ByteBuffer piece;
    private final long sizeBytes;

    /**
     * Creates a reader over a buffer.
     *
     * @param piece buffer for each piece, as large as the largest piece
     */
    PassedBytes(ByteBuffer piece, long sizeBytes) {
        this.piece = piece;
        this.sizeBytes = sizeBytes;
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
        throw new IllegalStateException("the bytes were not kept");
    }

    @Override
    public ByteBuffer bytes(long offset, int length) {
        return piece.clear().limit(length);
    }

    @Override
    public Storage retain() {
        return this;
    }

    @Override
    public void release() {
        // no memory to release
    }
}
