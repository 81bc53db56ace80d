package io.waybill.host;

import io.waybill.host.DescriptorWaits.WaitingRoom;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntConsumer;

/**
 * End of a FIFO through which processes wake each other, with bytes that have no meaning, or pass numbers.
 *
 * <p><b>Threads.</b> One thread at a time waits, takes or passes numbers; any may pass a byte or close.
 * <b>Ownership.</b> Its opener closes it; closing is idempotent. Closing wakes the waiting thread, and the descriptor
 * is closed when the last thread has left, so that no thread ever uses a reused descriptor. <b>Memory.</b> Waiting and
 * passing allocate nothing.
 */
public final class Fifo implements AutoCloseable {
    private final NativeCalls calls;
    private final NativeFile file;
    private final int descriptor;
    private final boolean waitedAt;
    private final WaitingRoom room = new WaitingRoom();
    /** Number of threads inside, and one for being open; the thread that decrements it to 0 closes the file. */
    private final AtomicInteger users = new AtomicInteger(1);

    private final AtomicBoolean closed = new AtomicBoolean();

    /**
     * Creates an end of a FIFO.
     *
     * @param waitedAt whether threads of this process wait at this end
     */
    Fifo(NativeCalls calls, NativeFile file, boolean waitedAt) {
        this.calls = calls;
        this.file = file;
        this.waitedAt = waitedAt;
        this.descriptor = file.descriptor();
    }

    /**
     * Waits for bytes and takes them all. Only for the end opened with {@link SafeFiles#openOwnFifo}.
     *
     * @return false when none arrived in time, or when a signal ended the wait
     * @throws IllegalStateException when it is closed
     */
    public boolean await(long timeoutNs) {
        if (!enter()) {
            throw new IllegalStateException("closed: " + file);
        }
        try {
            if (!calls.waits().awaitReadable(descriptor, timeoutNs, room)) {
                return false;
            }
            calls.waits().drain(descriptor, room);
            return true;
        } finally {
            exit();
        }
    }

    /**
     * Passes one byte, or none when the FIFO is full: then a thread is being woken already.
     *
     * @return false when no thread waits at it any more, or this end is closed
     */
    public boolean pass() throws IOException {
        if (!enter()) {
            return false;
        }
        try {
            return calls.waits().passByte(descriptor, room, file.path()) != DescriptorWaits.Passed.NO_READER;
        } finally {
            exit();
        }
    }

    /** Passes a number, or none when the FIFO is full. Nothing happens when no process has its other end open. */
    public void passInt(int number) throws IOException {
        if (enter()) {
            try {
                calls.waits().passInt(descriptor, number, room, file.path());
            } finally {
                exit();
            }
        }
    }

    /** Takes all numbers that were passed. Only for the end opened with {@link SafeFiles#openOwnFifo}. */
    public void takeInts(IntConsumer numbers) {
        if (enter()) {
            try {
                calls.waits().takeInts(descriptor, room, numbers);
            } finally {
                exit();
            }
        }
    }

    /**
     * Opens a watch whose waits end when something is passed here, unless it is {@linkplain #attend left out}. The
     * caller closes it.
     */
    public ChangeWatch openWatch() throws IOException {
        ChangeWatch watch = ChangeWatch.open(calls);
        try {
            watch.add(descriptor);
            return watch;
        } catch (NativeCallException e) { // for example at the user's limit, fs.epoll.max_user_watches
            watch.close();
            throw e;
        }
    }

    /** Sets whether passed bytes end waits of a watch that this was joined to. */
    public void attend(ChangeWatch watch, boolean attends) throws IOException {
        watch.attend(descriptor, attends);
    }

    /** Takes all bytes that are there. Only for the end opened with {@link SafeFiles#openOwnFifo}. */
    public void drain() {
        if (enter()) {
            try {
                calls.waits().drain(descriptor, room);
            } finally {
                exit();
            }
        }
    }

    /** Makes passed bytes end waits of {@code changes}, until they are taken. Returns whether they will. */
    public boolean endsWaitsOf(ChangeWatch changes) {
        return changes.join(descriptor);
    }

    private boolean enter() {
        if (closed.get()) {
            return false;
        }
        int now = users.get();
        while (now > 0) {
            if (users.compareAndSet(now, now + 1)) {
                return true;
            }
            now = users.get();
        }
        return false;
    }

    private void exit() {
        if (users.decrementAndGet() == 0) {
            file.close();
        }
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            try {
                if (waitedAt) {
                    calls.waits().passByte(descriptor, room, file.path()); // for a thread that waits inside
                }
            } catch (IOException e) {
                // the wait ends by its timeout, since no thread is woken
            } finally {
                exit();
            }
        }
    }
}
