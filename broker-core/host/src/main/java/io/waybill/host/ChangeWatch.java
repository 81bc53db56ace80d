package io.waybill.host;

import io.waybill.host.DescriptorWaits.DirectoryEvents;
import io.waybill.host.DescriptorWaits.WaitingRoom;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntUnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Waits until a directory changes, a process ends, or another thread calls {@link #wake}.
 *
 * <p><b>Threads.</b> One at a time waits; any may wake it, add processes, or close. <b>Ownership.</b> Its opener closes
 * it; closing again does nothing. Closing ends the wait, and the descriptors are closed when the last thread has left.
 * <b>Memory.</b> Waiting allocates nothing but the names of entries that changed.
 */
public final class ChangeWatch implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(ChangeWatch.class);
    private static final int NONE = -1;

    private final NativeCalls calls;
    private final int set;
    private final int signal;
    private final int directory; // NONE when the host does not report its changes
    private final WaitingRoom room = new WaitingRoom();
    private final WaitingRoom signalRoom = new WaitingRoom();
    private final Pending pending = new Pending();
    /** Number of threads inside, and one for being open; the thread that decrements it to 0 closes the descriptors. */
    private final AtomicInteger users = new AtomicInteger(1);

    private volatile boolean closed;

    /**
     * Changes of a directory.
     *
     * @param touched names of the entries whose times or mode were set
     * @param entries whether entries came or went
     * @param lost whether there may have been others
     * @param waitEnded whether a wait was ended, by these changes or by something else, such as the end of a process
     */
    public record Changes(Set<String> touched, boolean entries, boolean lost, boolean waitEnded) {}

    /** Changes that were not taken yet. The lock guards all fields. */
    private static final class Pending implements DirectoryEvents {
        private static final int MAX_NAMES = 1024;

        private final WaitingRoom room = new WaitingRoom();
        private final Set<String> touched = new HashSet<>();
        private boolean entries;
        private boolean lost;
        private boolean waitEnded;

        @Override
        public void touched(String name) {
            if (touched.size() < MAX_NAMES) {
                touched.add(name);
            } else {
                lost = true;
            }
        }

        @Override
        public void entries() {
            entries = true;
        }

        @Override
        public void lost() {
            lost = true;
        }

        synchronized void read(NativeCalls calls, int directory) {
            calls.waits().takeEvents(directory, room, this);
        }

        synchronized void waitEnded() {
            waitEnded = true;
        }

        synchronized Changes take() {
            touched.remove(""); // the directory itself
            Changes changes = new Changes(Set.copyOf(touched), entries, lost, waitEnded);
            waitEnded = false;
            touched.clear();
            entries = false;
            lost = false;
            return changes;
        }
    }

    private ChangeWatch(NativeCalls calls, int set, int signal, int directory) {
        this.calls = calls;
        this.set = set;
        this.signal = signal;
        this.directory = directory;
    }

    /**
     * Watches a directory, as far as the host can: a user has a limited number of such watches.
     *
     * @throws IOException when there are no descriptors left
     */
    public static ChangeWatch open(NativeCalls calls, Path watched) throws IOException {
        return open(calls, set -> watch(calls, set, watched));
    }

    /**
     * Creates a watch of no directory, only of what joins.
     *
     * @throws IOException when there are no descriptors left
     */
    static ChangeWatch open(NativeCalls calls) throws IOException {
        return open(calls, set -> NONE);
    }

    private static ChangeWatch open(NativeCalls calls, IntUnaryOperator directory) throws IOException {
        int set = calls.waits().newSet();
        int signal = NONE;
        try {
            signal = calls.waits().newSignal();
            calls.waits().joinSet(set, signal);
            return new ChangeWatch(calls, set, signal, directory.applyAsInt(set));
        } catch (NativeCallException e) {
            closeAll(calls, set, signal);
            throw e;
        }
    }

    private static int watch(NativeCalls calls, int set, Path watched) {
        int directory = NONE;
        try {
            directory = calls.waits().watchDirectory(watched);
            calls.waits().joinSet(set, directory);
            return directory;
        } catch (NativeCallException e) {
            LOG.debug("The host does not report when {} changes; it is polled", watched, e);
            closeAll(calls, directory);
            return NONE;
        }
    }

    private static void closeAll(NativeCalls calls, int... descriptors) {
        for (int descriptor : descriptors) {
            if (descriptor != NONE) {
                calls.close(descriptor);
            }
        }
    }

    /** Returns whether changes of the directory end a wait. */
    public boolean seesDirectory() {
        return directory != NONE;
    }

    /** Makes a readable descriptor end waits, until it is closed. Not once this is closed. */
    void add(int descriptor) throws NativeCallException {
        calls.waits().joinSet(set, descriptor);
    }

    /** Adds a descriptor like {@link #add}. Returns whether that succeeded. */
    boolean join(int descriptor) {
        if (!enter()) {
            return false;
        }
        try {
            add(descriptor);
            return true;
        } catch (NativeCallException e) {
            LOG.debug("The end of a process can't be waited for", e);
            return false;
        } finally {
            exit();
        }
    }

    /**
     * Sets whether a descriptor that has joined ends waits; if it is readable by now, it does so immediately. Does
     * nothing once this is closed.
     */
    void attend(int descriptor, boolean attends) throws NativeCallException {
        if (enter()) {
            try {
                calls.waits().attend(set, descriptor, attends);
            } finally {
                exit();
            }
        }
    }

    /**
     * Waits until an event happens that no wait has reported yet; returns immediately when the watch is closed.
     *
     * @return false when none happened in time
     */
    public boolean await(long timeoutNs) {
        if (!enter()) {
            return true;
        }
        try {
            if (!calls.waits().awaitReadable(set, timeoutNs, room)) {
                return false;
            }
            calls.waits().drain(signal, room);
            pending.waitEnded();
            if (directory != NONE) {
                pending.read(calls, directory);
            }
            return true;
        } finally {
            exit();
        }
    }

    /** Returns the changes of the directory since the last call, as far as the host reports them. */
    public Changes takeChanges() {
        if (directory != NONE && enter()) {
            try {
                pending.read(calls, directory);
            } finally {
                exit();
            }
        }
        return pending.take();
    }

    /** Ends the current wait, or the next one. */
    public void wake() {
        if (!enter()) {
            return;
        }
        try {
            calls.waits().raise(signal, signalRoom);
        } finally {
            exit();
        }
    }

    private boolean enter() {
        if (closed) {
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
            closeAll(calls, set, signal, directory);
        }
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            wake();
            closed = true;
            exit();
        }
    }
}
