package io.waybill.host;

import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;
import jnr.constants.platform.Errno;
import jnr.ffi.LastError;
import jnr.ffi.Pointer;
import jnr.ffi.Runtime;

/**
 * Waits until descriptors can be read, and makes them so: {@code ppoll}, {@code epoll}, {@code inotify}, {@code eventfd} and pipes.
 *
 * <p><b>Threads.</b> Thread-safe, with a waiting room for each thread that waits. <b>Errors.</b> {@link NativeCallException}, as
 * {@link NativeCalls}.
 */
final class DescriptorWaits {

    /** A directory's entries come, go or are replaced, or its own times are set. */
    private static final int IN_CHANGES = 0x4 | 0x40 | 0x80 | 0x100 | 0x200;

    private static final int IN_ONLYDIR = 0x01000000;
    private static final int IN_DONT_FOLLOW = 0x02000000;
    private static final int EPOLL_CTL_ADD = 1;
    private static final int EPOLLIN = 1;
    private static final long NS_PER_S = 1_000_000_000L;

    /** How an attempt to pass one byte into a pipe ended. */
    enum Passed {
        WRITTEN,
        /** The pipe is full. */
        FULL,
        /** No process has it open for reading. */
        NOBODY_READS
    }

    private final LibC.Functions libc;
    private final Runtime runtime;

    DescriptorWaits(LibC.Functions libc, Runtime runtime) {
        this.libc = libc;
        this.runtime = runtime;
    }

    /** Room that {@link #awaitReadable} and {@link #drain} write to; one per thread that waits. */
    Pointer waitingRoom() {
        return runtime.getMemoryManager().allocateDirect(WaitingRoom.BYTES, true);
    }

    /**
     * Waits until the descriptor has something to read. Allocates nothing.
     *
     * @return false after the timeout and when a signal came first
     */
    boolean awaitReadable(int fd, long timeoutNs, Pointer room, long roomAddress) {
        room.putInt(WaitingRoom.FD, fd);
        room.putInt(WaitingRoom.EVENTS, WaitingRoom.POLLIN);
        long bounded = Math.max(0, timeoutNs);
        room.putLong(WaitingRoom.SECONDS, bounded / NS_PER_S);
        room.putLong(WaitingRoom.NANOS, bounded % NS_PER_S);
        return libc.ppoll(roomAddress, 1, roomAddress + WaitingRoom.SECONDS, 0) > 0;
    }

    /** A descriptor that is readable as long as one of those {@linkplain #joinSet joined} to it is. */
    int newSet() throws NativeCallException {
        int fd = libc.epoll_create1(NativeCalls.O_CLOEXEC);
        if (fd < 0) {
            throw failure("epoll_create", null);
        }
        return fd;
    }

    /** The descriptor leaves the set when it is closed. */
    void joinSet(int set, int fd) throws NativeCallException {
        Pointer event = runtime.getMemoryManager().allocateDirect(16, true);
        event.putInt(0, EPOLLIN);
        if (libc.epoll_ctl(set, EPOLL_CTL_ADD, fd, event.address()) != 0) {
            throw failure("epoll_ctl", null);
        }
    }

    /** A non-blocking descriptor that is readable once the directory's entries or its times have changed. */
    int watchDirectory(Path directory) throws NativeCallException {
        int fd = libc.inotify_init1(NativeCalls.O_NONBLOCK | NativeCalls.O_CLOEXEC);
        if (fd < 0) {
            throw failure("inotify_init of ", directory);
        }
        if (libc.inotify_add_watch(fd, PathBytes.of(directory), IN_CHANGES | IN_ONLYDIR | IN_DONT_FOLLOW) < 0) {
            NativeCallException failure = failure("inotify_add_watch of ", directory);
            libc.close(fd);
            throw failure;
        }
        return fd;
    }

    /** A non-blocking descriptor that is readable once {@link #raise} was called and until it is drained. */
    int newSignal() throws NativeCallException {
        int fd = libc.eventfd(0, NativeCalls.O_NONBLOCK | NativeCalls.O_CLOEXEC);
        if (fd < 0) {
            throw failure("eventfd", null);
        }
        return fd;
    }

    /** Makes a signal readable. */
    void raise(int signal, Pointer room) {
        room.putLong(WaitingRoom.BYTES_READ, 1);
        libc.write(signal, room.address() + WaitingRoom.BYTES_READ, Long.BYTES); // refused only when it is raised
    }

    /** Reads all that a non-blocking descriptor holds and forgets it. Allocates nothing. */
    void drain(int fd, long roomAddress) {
        long read;
        do {
            read = libc.read(fd, roomAddress + WaitingRoom.BYTES_READ, WaitingRoom.READ_AT_ONCE);
        } while (read == WaitingRoom.READ_AT_ONCE);
    }

    /** Passes the byte at {@code address} into a non-blocking pipe. Allocates nothing unless it fails. */
    Passed passByte(int fd, long address, Path path) throws NativeCallException {
        while (true) {
            if (libc.write(fd, address, 1) == 1) {
                return Passed.WRITTEN;
            }
            int errno = LastError.getLastError(runtime);
            if (errno == Errno.EAGAIN.intValue()) {
                return Passed.FULL;
            }
            if (errno == Errno.EPIPE.intValue()) {
                return Passed.NOBODY_READS;
            }
            if (errno != Errno.EINTR.intValue()) {
                throw new NativeCallException(errno, "write to " + path);
            }
            LockSupport.parkNanos(1); // lets the sender of the signals run
        }
    }

    /** The layout of a waiting room: a pollfd, a timespec and a buffer. */
    private static final class WaitingRoom {
        static final int FD = 0;
        static final int EVENTS = 4; // and the events returned, in the upper half
        static final int SECONDS = 8;
        static final int NANOS = 16;
        static final int BYTES_READ = 64;
        static final int READ_AT_ONCE = 4096;
        static final int BYTES = BYTES_READ + READ_AT_ONCE;
        static final int POLLIN = 1;
    }

    private NativeCallException failure(String what, Path path) {
        return NativeCallException.last(runtime, what, path);
    }
}
