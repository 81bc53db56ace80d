package io.waybill.host;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicBoolean;
import org.agrona.BufferUtil;

/**
 * File as the kernel knows it, for operations that {@link java.nio.channels.FileChannel} lacks: reserving space,
 * locking by open, mapping any size. Only {@link SafeFiles} opens it.
 *
 * <p><b>Threads.</b> Thread-safe, but no thread may use it while another closes it. <b>Ownership.</b> Its opener closes
 * it; closing again does nothing. Mappings outlive it. <b>Errors.</b> {@link NativeCallException}.
 */
public final class NativeFile implements AutoCloseable {
    private static final ByteBuffer ZEROS = ByteBuffer.allocateDirect(1 << 20);

    private final NativeCalls calls;
    private final int descriptor;
    private final Path path;
    private final AtomicBoolean closed = new AtomicBoolean();

    NativeFile(NativeCalls calls, int descriptor, Path path) {
        this.calls = calls;
        this.descriptor = descriptor;
        this.path = path;
    }

    /** Use of a JDK channel that it opens and closes. May be repeated. */
    @FunctionalInterface
    public interface ChannelUse<T> {
        T run() throws IOException;
    }

    /**
     * Uses a JDK channel, which an interrupt of the calling thread would close: without that interrupt, and from
     * scratch when one comes meanwhile. Afterwards the thread has the interrupt again.
     */
    public static <T> T uninterrupted(ChannelUse<T> use) throws IOException {
        boolean interrupted = Thread.interrupted();
        try {
            while (true) {
                try {
                    return use.run();
                } catch (ClosedByInterruptException e) {
                    interrupted |= Thread.interrupted();
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Returns the path at which the file was opened. */
    public Path path() {
        return path;
    }

    /** Returns a path that leads to this file, even when another one has replaced it. */
    Path descriptorPath() {
        return Path.of("/proc/self/fd/" + descriptor());
    }

    /** Opens this file again, for reading and writing. */
    private NativeFile openAgain() throws NativeCallException {
        byte[] itself = PathBytes.of(descriptorPath());
        return new NativeFile(calls, calls.openAt(NativeCalls.AT_FDCWD, itself, NativeCalls.O_RDWR, 0, path), path);
    }

    /** Opens this file again as a channel, which an interrupt does not close. The caller closes it. */
    FileChannel openChannel() throws NativeCallException {
        return new UninterruptibleChannel(openAgain());
    }

    /** Returns this file as a channel, which owns it, and which an interrupt does not close. */
    FileChannel asChannel() {
        return new UninterruptibleChannel(this);
    }

    int descriptor() {
        if (closed.get()) {
            throw new IllegalStateException("closed: " + path);
        }
        return descriptor;
    }

    public long size() throws NativeCallException {
        return calls.size(descriptor(), path);
    }

    /**
     * Returns the first position, from a given one on, that was ever written; {@link Long#MAX_VALUE} when there is
     * none. The bytes before read as zeros.
     */
    public long dataFrom(long position) throws NativeCallException {
        return calls.dataFrom(descriptor(), position, path);
    }

    /** Reserves disk space for a range, without changing the file's size. Fails when there is not enough. */
    public void reserve(long offset, long length) throws NativeCallException {
        calls.reserve(descriptor(), offset, length, path);
    }

    /** Reserves disk space for a range, and makes the file reach to its end. */
    public void extend(long offset, long length) throws NativeCallException {
        calls.extend(descriptor(), offset, length, path);
    }

    /** Releases the disk space of a range, which then reads as zeros. */
    public void punchHole(long offset, long length) throws NativeCallException {
        calls.punchHole(descriptor(), offset, length, path);
    }

    public void truncate(long size) throws NativeCallException {
        calls.truncate(descriptor(), size, path);
    }

    /** Syncs the content to the disk. After the first failure nothing written since the last success is reliable. */
    public void dataSync() throws NativeCallException {
        calls.dataSync(descriptor(), path);
    }

    /** Syncs content and metadata, or a directory's entries, to the disk. */
    public void sync() throws NativeCallException {
        calls.sync(descriptor(), path);
    }

    /**
     * Reads into native memory. Returns the number of bytes, which is smaller than requested at the end of the file.
     */
    public long readAt(long address, long length, long position) throws NativeCallException {
        return calls.readAt(descriptor(), address, length, position, path);
    }

    /** Writes from native memory. Returns the number of bytes, which may be fewer than requested. */
    public long writeAt(long address, long length, long position) throws NativeCallException {
        return calls.writeAt(descriptor(), address, length, position, path);
    }

    /** Writes zeros over a range, so that its pages are in memory. */
    public void writeZeros(long offset, long length) throws NativeCallException {
        long end = offset + length;
        long address = BufferUtil.address(ZEROS);
        for (long at = offset; at < end; ) {
            at += writeAt(address, Math.min(ZEROS.capacity(), end - at), at);
        }
    }

    /** Maps a range that starts at a page. Returns its address, for {@link NativeCalls#unmap}. */
    public long map(NativeCalls.Mapping mapping, long offset, long length) throws NativeCallException {
        return calls.map(descriptor(), mapping, offset, length, path);
    }

    /** Acquires a lock that is bound to this open file description; false when another one, anywhere, holds it. */
    public boolean tryLock() throws NativeCallException {
        return calls.tryLock(descriptor(), path);
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            calls.close(descriptor);
        }
    }

    @Override
    public String toString() {
        return path.toString();
    }
}
