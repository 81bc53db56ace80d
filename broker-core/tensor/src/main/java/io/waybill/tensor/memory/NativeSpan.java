package io.waybill.tensor.memory;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * Range of native memory of any size, and views of its parts.
 *
 * <p>A buffer reaches over less than 2 GiB, so a larger span is seen through several windows that overlap.
 *
 * <p><b>Threads.</b> Thread-safe. <b>Ownership.</b> Its creator closes it, once. The memory is freed then, or when the
 * last view can't be reached any more.
 */
public final class NativeSpan {

    private static final int WINDOW_SHIFT = 30;

    private final NativeMemory memory;
    private final long address;
    private final long length;
    private final Runnable free;
    private final List<Window> windows = new ArrayList<>(1);
    private boolean closed;

    public NativeSpan(NativeMemory memory, long address, long length, Runnable free) {
        this.memory = memory;
        this.address = address;
        this.length = length;
        this.free = free;
        memory.reap();
    }

    public long address() {
        return address;
    }

    public long length() {
        return length;
    }

    /** Returns a writable view in native byte order. */
    public synchronized ByteBuffer view(long offset, int size) {
        if (closed) {
            throw new IllegalStateException("the memory is released");
        }
        if (offset < 0 || size < 0 || offset > length - size) {
            throw new IndexOutOfBoundsException(
                    "a part of " + size + " bytes at " + offset + " does not lie inside " + length + " bytes");
        }
        Window window = window(offset, size);
        return window.buffer.slice((int) (offset - window.start), size).order(ByteOrder.nativeOrder());
    }

    private Window window(long offset, int size) {
        for (Window window : windows) {
            if (window.holds(offset, size)) {
                return window;
            }
        }
        Window aligned = windowAt(offset >> WINDOW_SHIFT << WINDOW_SHIFT);
        Window fitting = aligned.holds(offset, size) ? aligned : windowAt(offset);
        windows.add(fitting);
        return fitting;
    }

    private Window windowAt(long start) {
        return new Window(start, memory.buffer(address + start, (int) Math.min(Integer.MAX_VALUE, length - start)));
    }

    /** Returns whether a view of it may be reachable. */
    public synchronized boolean mayBeSeen() {
        return !windows.isEmpty();
    }

    public void close() {
        List<ByteBuffer> buffers;
        synchronized (this) {
            if (closed) {
                throw new IllegalStateException("memory is closed once");
            }
            closed = true;
            buffers = windows.stream().map(Window::buffer).toList();
            windows.clear();
        }
        if (buffers.isEmpty()) {
            free.run();
        } else {
            memory.freeWhenUnseen(buffers, length, free);
        }
    }

    private record Window(long start, ByteBuffer buffer) {
        boolean holds(long offset, int size) {
            return offset >= start && offset + size <= start + buffer.capacity();
        }
    }
}
