package io.waybill.host;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;
import org.agrona.BufferUtil;

/**
 * Waits until descriptors are readable, and makes them readable: {@code ppoll}, {@code epoll}, {@code inotify},
 * {@code eventfd} and pipes.
 *
 * <p><b>Threads.</b> Thread-safe, with a {@link WaitingRoom} for each thread that waits. <b>Errors.</b>
 * {@link NativeCallException}, as {@link NativeCalls}.
 */
final class DescriptorWaits {

    private static final int IN_ATTRIB = 0x4;
    private static final int IN_Q_OVERFLOW = 0x4000;
    /**
     * Mask of the changes of a directory: entries come, go or are replaced, or times are set, of the directory or of an
     * entry.
     */
    private static final int IN_CHANGES = IN_ATTRIB | 0x40 | 0x80 | 0x100 | 0x200;

    private static final int IN_ONLYDIR = 0x01000000;
    private static final int IN_DONT_FOLLOW = 0x02000000;
    private static final int EPOLL_CTL_ADD = 1;
    private static final int EPOLL_CTL_MOD = 3;
    private static final int EPOLLIN = 1;
    private static final int EPOLL_EVENT_BYTES = 16;

    /** Receiver of the events of a descriptor of {@link #watchDirectory}. */
    interface DirectoryEvents {

        /** Reports that the times or the mode of an entry were set; of the directory itself when the name is empty. */
        void touched(String name);

        /** Reports that entries came or went. */
        void entries();

        /** Reports that more happened than the host could note. */
        void lost();
    }

    /** Result of an attempt to write one byte to a pipe. */
    enum Passed {
        WRITTEN,
        /** The pipe is full. */
        FULL,
        /** No process has it open for reading. */
        NO_READER
    }

    /**
     * Native memory for a wait: a pollfd, a timespec and a buffer for what is read. For one thread at a time. It is
     * freed when it becomes unreachable, so its user keeps it in a field.
     */
    static final class WaitingRoom {
        private static final int READ_AT_ONCE = 4096;

        private static final int DESCRIPTOR = 0;
        private static final int EVENTS = 4; // also offset of the returned events, in the upper half
        private static final int SECONDS = 8;
        private static final int NANOS = 16;
        private static final int BUFFER = 64;
        private static final int EVENT_MASK = 4; // offset in an inotify event: behind the watch's number
        private static final int EVENT_LENGTH = 12; // of the name's length; the name follows, with zeros behind it
        private static final int EVENT_HEADER = 16;
        private static final int POLLIN = 1;
        private static final long NS_PER_S = 1_000_000_000L;

        private final ByteBuffer memory =
                ByteBuffer.allocateDirect(BUFFER + READ_AT_ONCE).order(ByteOrder.nativeOrder());
        private final long address = BufferUtil.address(memory);

        /** Writes the descriptor to wait for, and the timeout. */
        void setWait(int descriptor, long timeoutNs) {
            memory.putInt(DESCRIPTOR, descriptor);
            memory.putInt(EVENTS, POLLIN);
            long bounded = Math.max(0, timeoutNs);
            memory.putLong(SECONDS, bounded / NS_PER_S);
            memory.putLong(NANOS, bounded % NS_PER_S);
        }

        void setBuffer(long value) {
            memory.putLong(BUFFER, value);
        }

        int bufferInt(int n) {
            return memory.getInt(BUFFER + n * Integer.BYTES);
        }

        /** Passes on the inotify events in this number of read bytes. */
        void passEvents(long read, DirectoryEvents events) {
            int end = BUFFER + (int) read;
            int at = BUFFER;
            while (at + EVENT_HEADER <= end) {
                int mask = memory.getInt(at + EVENT_MASK);
                int length = memory.getInt(at + EVENT_LENGTH);
                int name = at + EVENT_HEADER;
                if ((mask & IN_ATTRIB) != 0) {
                    events.touched(text(name, Math.min(end, name + length)));
                } else if ((mask & IN_Q_OVERFLOW) != 0) {
                    events.lost();
                } else {
                    events.entries();
                }
                at = name + length;
            }
        }

        private String text(int from, int to) {
            StringBuilder text = new StringBuilder();
            for (int at = from; at < to && memory.get(at) != 0; at++) {
                text.append((char) (memory.get(at) & 0xff));
            }
            return text.toString();
        }

        long pollfdAddress() {
            return address;
        }

        long timeoutAddress() {
            return address + SECONDS;
        }

        long bufferAddress() {
            return address + BUFFER;
        }
    }

    private final LibC libc;
    /** Two {@code struct epoll_event}: one for readable descriptors, and one for no event. Only read. */
    private final ByteBuffer events =
            ByteBuffer.allocateDirect(2 * EPOLL_EVENT_BYTES).order(ByteOrder.nativeOrder());

    DescriptorWaits(LibC libc) {
        this.libc = libc;
        events.putInt(0, EPOLLIN);
    }

    /**
     * Waits until the descriptor has something to read. Allocates nothing.
     *
     * @return false after the timeout and when a signal came first
     */
    boolean awaitReadable(int fd, long timeoutNs, WaitingRoom room) {
        room.setWait(fd, timeoutNs);
        return libc.ppoll(room.pollfdAddress(), 1, room.timeoutAddress(), 0) > 0;
    }

    /** Creates a descriptor that is readable while a descriptor {@linkplain #joinSet joined} to it is. */
    int newSet() throws NativeCallException {
        int fd = libc.epollCreate(NativeCalls.O_CLOEXEC);
        if (fd < 0) {
            throw failure("epoll_create", null);
        }
        return fd;
    }

    /** Adds a descriptor to a set. It leaves the set when it is closed. */
    void joinSet(int set, int fd) throws NativeCallException {
        control(set, EPOLL_CTL_ADD, fd, true);
    }

    /** Sets whether a member of the set makes it readable. Allocates nothing. */
    void attend(int set, int fd, boolean attends) throws NativeCallException {
        control(set, EPOLL_CTL_MOD, fd, attends);
    }

    private void control(int set, int operation, int fd, boolean attends) throws NativeCallException {
        long event = BufferUtil.address(events) + (attends ? 0 : EPOLL_EVENT_BYTES);
        if (libc.epollCtl(set, operation, fd, event) != 0) {
            throw failure("epoll_ctl", null);
        }
    }

    /** Creates a non-blocking descriptor that is readable once the directory's entries or its times have changed. */
    int watchDirectory(Path directory) throws NativeCallException {
        int fd = libc.inotifyInit(NativeCalls.O_NONBLOCK | NativeCalls.O_CLOEXEC);
        if (fd < 0) {
            throw failure("inotify_init of ", directory);
        }
        if (libc.inotifyAddWatch(fd, PathBytes.of(directory), IN_CHANGES | IN_ONLYDIR | IN_DONT_FOLLOW) < 0) {
            NativeCallException failure = failure("inotify_add_watch of ", directory);
            libc.close(fd);
            throw failure;
        }
        return fd;
    }

    /** Creates a non-blocking descriptor that is readable once {@link #raise} was called and until it is drained. */
    int newSignal() throws NativeCallException {
        int fd = libc.eventfd(0, NativeCalls.O_NONBLOCK | NativeCalls.O_CLOEXEC);
        if (fd < 0) {
            throw failure("eventfd", null);
        }
        return fd;
    }

    /** Makes a signal readable. */
    void raise(int signal, WaitingRoom room) {
        room.setBuffer(1);
        libc.write(signal, room.bufferAddress(), Long.BYTES); // refused only when it is raised already
    }

    /** Reads all that a non-blocking descriptor holds and discards it. Allocates nothing. */
    void drain(int fd, WaitingRoom room) {
        long read;
        do {
            read = libc.read(fd, room.bufferAddress(), WaitingRoom.READ_AT_ONCE);
        } while (read == WaitingRoom.READ_AT_ONCE);
    }

    /** Reads all that a descriptor of {@link #watchDirectory} holds. */
    void takeEvents(int fd, WaitingRoom room, DirectoryEvents events) {
        long read;
        do {
            read = libc.read(fd, room.bufferAddress(), WaitingRoom.READ_AT_ONCE);
            room.passEvents(read, events);
        } while (read > 0); // the kernel returns only whole events, so a full buffer is rare
    }

    /** Reads the numbers that a non-blocking pipe holds, and discards an incomplete one. Allocates nothing. */
    void takeInts(int fd, WaitingRoom room, IntConsumer numbers) {
        long read;
        do {
            read = libc.read(fd, room.bufferAddress(), WaitingRoom.READ_AT_ONCE);
            for (int i = 0; i < read / Integer.BYTES; i++) {
                numbers.accept(room.bufferInt(i));
            }
        } while (read == WaitingRoom.READ_AT_ONCE);
    }

    /** Writes a number to a non-blocking pipe, as a whole or not at all. The room belongs to the caller alone. */
    Passed passInt(int fd, int number, WaitingRoom room, Path path) throws NativeCallException {
        room.setBuffer(number);
        return pass(fd, Integer.BYTES, room, path);
    }

    /** Writes a byte of the room, with any value, to a non-blocking pipe. Allocates nothing unless it fails. */
    Passed passByte(int fd, WaitingRoom room, Path path) throws NativeCallException {
        return pass(fd, 1, room, path);
    }

    private Passed pass(int fd, int bytes, WaitingRoom room, Path path) throws NativeCallException {
        while (true) {
            if (libc.write(fd, room.bufferAddress(), bytes) == bytes) {
                return Passed.WRITTEN;
            }
            int errno = libc.errno();
            if (errno == LibC.EAGAIN) {
                return Passed.FULL;
            }
            if (errno == LibC.EPIPE) {
                return Passed.NO_READER;
            }
            if (errno != LibC.EINTR) {
                throw new NativeCallException(errno, "write to " + path);
            }
            LockSupport.parkNanos(1); // lets the sender of the signals run
        }
    }

    private NativeCallException failure(String what, Path path) {
        return NativeCallException.of(libc.errno(), what, path);
    }
}
