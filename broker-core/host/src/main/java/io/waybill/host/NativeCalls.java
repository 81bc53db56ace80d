package io.waybill.host;

import com.kenai.jffi.MemoryIO;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.OptionalInt;
import java.util.concurrent.locks.LockSupport;
import jnr.constants.platform.OpenFlags;

/**
 * System calls that Java lacks, bound to libc. The only class that does so.
 *
 * <p><b>Threads.</b> Thread-safe. A call runs outside the JVM's safepoints: a call that blocks delays no other thread.
 *
 * <p><b>Errors.</b> {@link NativeCallException} with the errno's name and what was attempted. Calls that a signal
 * interrupted are repeated, but for {@link DescriptorWaits#awaitReadable}.
 *
 * <p><b>Ownership.</b> Addresses from {@link #map} are the caller's to unmap, and dead from then on: touching one kills
 * the process.
 */
public final class NativeCalls {
    /**
     * Flag of x86-64: other architectures number some flags differently. The table with all of them takes tens of
     * milliseconds to load.
     */
    private static final boolean IS_X86_64 = "amd64".equals(System.getProperty("os.arch"));

    static final int O_RDONLY = 0;
    static final int O_WRONLY = 1;
    static final int O_RDWR = 2;
    static final int O_CREAT = IS_X86_64 ? 0x40 : OpenFlags.O_CREAT.intValue();
    static final int O_EXCL = IS_X86_64 ? 0x80 : OpenFlags.O_EXCL.intValue();
    static final int O_NONBLOCK = IS_X86_64 ? 0x800 : OpenFlags.O_NONBLOCK.intValue();
    static final int O_CLOEXEC = IS_X86_64 ? 0x80000 : OpenFlags.O_CLOEXEC.intValue();
    static final int O_NOFOLLOW = IS_X86_64 ? 0x20000 : OpenFlags.O_NOFOLLOW.intValue();
    static final int O_DIRECTORY = IS_X86_64 ? 0x10000 : OpenFlags.O_DIRECTORY.intValue();
    /** Flag that names a file without opening it: no device is touched, no FIFO waits. */
    static final int O_PATH = 0x200000;

    static final int AT_FDCWD = -100;

    /** Number of the system call, the same on every architecture. */
    private static final int SYS_PIDFD_OPEN = 434;

    private static final int PRIO_PROCESS = 0;
    /** Selects the calling thread: Linux counts threads where POSIX counts processes. */
    private static final int CALLING_THREAD = 0;

    private static final int LOWEST_PRIORITY = 19;
    private static final int LOCK_EX = 2;
    private static final int LOCK_NB = 4;
    private static final int FALLOC_FL_KEEP_SIZE = 1;
    private static final int FALLOC_FL_PUNCH_HOLE = 2;
    private static final int RENAME_NOREPLACE = 1;
    private static final int AT_SYMLINK_NOFOLLOW = 0x100;
    /** Size of the structure, the same on every architecture. */
    private static final int STATX_BYTES = 256;

    private static final int STATX_BLOCKS = 0x400;
    private static final int STATX_BLOCKS_AT = 48;
    private static final int STAT_BLOCK_BYTES = 512;
    private static final int SEEK_END = 2;
    private static final int SEEK_DATA = 3;
    private static final int PROT_READ = 1;
    private static final int PROT_WRITE = 2;
    private static final int MAP_SHARED = 1;
    private static final int MAP_PRIVATE = 2;
    private static final long ANY_ADDRESS = 0;
    private static final long MAP_FAILED = -1;
    private static final int TIMESPEC_BYTES = 16;
    private static final long NS_PER_S = 1_000_000_000L;

    /** Access rights of a mapping. */
    public enum Mapping {
        /** Mapping whose reads see what others write. */
        READ_ONLY(PROT_READ, MAP_SHARED),
        /** Mapping whose reads and writes go to the file. */
        SHARED(PROT_READ | PROT_WRITE, MAP_SHARED),
        /** Mapping whose writes stay private; the file may be open for reading only. */
        PRIVATE(PROT_READ | PROT_WRITE, MAP_PRIVATE);

        private final int protection;
        private final int flags;

        Mapping(int protection, int flags) {
            this.protection = protection;
            this.flags = flags;
        }
    }

    /** Advice to the kernel about mapped memory, with Linux's numbers. */
    public enum Advice {
        SEQUENTIAL(2),
        WILL_NEED(3),
        /** Drops the pages: a private mapping shows the file again. */
        DONT_NEED(4),
        HUGE_PAGE(14),
        /** Touches every page for writing, and reports an error in place of a SIGBUS. Since Linux 5.14. */
        POPULATE_WRITE(23);

        private final int number;

        Advice(int number) {
            this.number = number;
        }
    }

    private final LibC libc;
    private final DescriptorWaits waits;
    private final DirectoryTree tree;

    NativeCalls(LibC libc) {
        this.libc = libc;
        this.waits = new DescriptorWaits(libc);
        this.tree = new DirectoryTree(libc);
    }

    /**
     * Binds libc.
     *
     * @throws IllegalStateException when that is impossible on this host
     */
    public static NativeCalls load() {
        try {
            return new NativeCalls(new LibC());
        } catch (LinkageError e) {
            throw new IllegalStateException("expected a 64-bit Linux whose libc can be bound: " + e.getMessage(), e);
        }
    }

    /** Returns the user as which this process acts. */
    public int effectiveUser() {
        return libc.geteuid();
    }

    /** Sets the lowest priority for the calling thread, so that it hardly delays others. */
    public void lowerPriority() {
        libc.setpriority(PRIO_PROCESS, CALLING_THREAD, LOWEST_PRIORITY); // a failure only costs processor time
    }

    /**
     * Calls ioctl on a terminal.
     *
     * @param structure read and written
     * @return whether it succeeded; false when the descriptor is not a terminal's
     */
    public boolean controlTerminal(int descriptor, long request, byte[] structure) {
        MemoryIO memory = MemoryIO.getInstance();
        long address = memory.allocateMemory(structure.length, false);
        try {
            memory.putByteArray(address, structure, 0, structure.length);
            boolean done = libc.ioctl(descriptor, request, address) == 0;
            memory.getByteArray(address, structure, 0, structure.length);
            return done;
        } finally {
            memory.freeMemory(address);
        }
    }

    public long processId() {
        return libc.getpid();
    }

    /** Reads a clock of {@code clock_gettime}. */
    long clockNs(int clock) {
        MemoryIO memory = MemoryIO.getInstance();
        long timespec = memory.allocateMemory(TIMESPEC_BYTES, false);
        try {
            if (libc.clockGettime(clock, timespec) != 0) {
                throw new IllegalStateException("clock_gettime(" + clock + "): errno " + libc.errno());
            }
            return memory.getLong(timespec) * NS_PER_S + memory.getLong(timespec + Long.BYTES);
        } finally {
            memory.freeMemory(timespec);
        }
    }

    /**
     * Opens a descriptor of a process of this pid namespace; empty when it has ended, or the kernel (before 5.3) or its
     * filter does not allow it.
     */
    OptionalInt openProcess(long pid) {
        long fd = libc.syscall(SYS_PIDFD_OPEN, pid, 0);
        return fd < 0 ? OptionalInt.empty() : OptionalInt.of((int) fd);
    }

    int openAt(int directory, byte[] name, int flags, int mode, Path path) throws NativeCallException {
        while (true) {
            int fd = libc.openat(directory, name, flags | O_CLOEXEC, mode);
            if (fd >= 0) {
                return fd;
            }
            throwUnlessInterrupted("open of ", path);
        }
    }

    void close(int fd) {
        libc.close(fd); // never repeated: the descriptor is closed with any result
    }

    void makeFifoAt(int directory, byte[] name, Path path) throws NativeCallException {
        if (libc.mkfifoat(directory, name, 0600) != 0) {
            throw failure("mkfifo of ", path);
        }
    }

    void unlinkAt(int directory, byte[] name, Path path) throws NativeCallException {
        if (libc.unlinkat(directory, name, 0) != 0 && libc.errno() != LibC.ENOENT) {
            throw failure("unlink of ", path);
        }
    }

    void renameAt(int directory, byte[] from, byte[] to, Path path) throws NativeCallException {
        if (libc.renameat2(directory, from, directory, to, 0) != 0) {
            throw failure("rename to ", path);
        }
    }

    /** Renames a file unless the target exists; returns false when it does. */
    boolean renameToNewAt(int directory, byte[] from, byte[] to, Path path) throws NativeCallException {
        if (libc.renameat2(directory, from, directory, to, RENAME_NOREPLACE) == 0) {
            return true;
        }
        if (libc.errno() == LibC.EEXIST) {
            return false;
        }
        throw failure("rename without replacing to ", path);
    }

    /** Acquires an flock(2): it belongs to this open of the file, and closing another one does not release it. */
    boolean tryLock(int fd, Path path) throws NativeCallException {
        while (true) {
            if (libc.flock(fd, LOCK_EX | LOCK_NB) == 0) {
                return true;
            }
            if (libc.errno() == LibC.EAGAIN) {
                return false;
            }
            throwUnlessInterrupted("flock of ", path);
        }
    }

    /** Reserves space without changing the size. */
    void reserve(int fd, long offset, long length, Path path) throws NativeCallException {
        fallocate(fd, FALLOC_FL_KEEP_SIZE, offset, length, path);
    }

    /** Reserves space and extends the file to that size. */
    void extend(int fd, long offset, long length, Path path) throws NativeCallException {
        fallocate(fd, 0, offset, length, path);
    }

    /** Releases the disk space of a range, which then reads as zeros. */
    void punchHole(int fd, long offset, long length, Path path) throws NativeCallException {
        fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length, path);
    }

    private void fallocate(int fd, int mode, long offset, long length, Path path) throws NativeCallException {
        while (libc.fallocate(fd, mode, offset, length) != 0) {
            throwUnlessInterrupted("fallocate of " + sizeText(length) + " at " + offset + " of ", path);
        }
    }

    void truncate(int fd, long size, Path path) throws NativeCallException {
        while (libc.ftruncate(fd, size) != 0) {
            throwUnlessInterrupted("ftruncate to " + sizeText(size) + " of ", path);
        }
    }

    /** Syncs a file's data. Never repeated after a failure: the second attempt would claim success. */
    void dataSync(int fd, Path path) throws NativeCallException {
        if (libc.fdatasync(fd) != 0) {
            throw failure("fdatasync of ", path);
        }
    }

    void sync(int fd, Path path) throws NativeCallException {
        if (libc.fsync(fd) != 0) {
            throw failure("fsync of ", path);
        }
    }

    /** Returns the disk usage of a file, reserved space included; a link is not followed, and nothing is opened. */
    long allocatedBytes(Path path) throws NativeCallException {
        long[] status = new long[STATX_BYTES / Long.BYTES];
        if (libc.statx(AT_FDCWD, PathBytes.of(path.toAbsolutePath()), AT_SYMLINK_NOFOLLOW, STATX_BLOCKS, status) != 0) {
            throw failure("statx of ", path);
        }
        return status[STATX_BLOCKS_AT / Long.BYTES] * STAT_BLOCK_BYTES;
    }

    long size(int fd, Path path) throws NativeCallException {
        long size = libc.lseek(fd, 0, SEEK_END);
        if (size < 0) {
            throw failure("lseek of ", path);
        }
        return size;
    }

    /**
     * Returns the first position, from a given one on, with written data; {@link Long#MAX_VALUE} when there is none.
     */
    long dataFrom(int fd, long position, Path path) throws NativeCallException {
        long found = libc.lseek(fd, position, SEEK_DATA);
        if (found >= 0) {
            return found;
        }
        int errno = libc.errno();
        if (errno == LibC.ENXIO) {
            return Long.MAX_VALUE;
        }
        if (errno == LibC.EINVAL) { // a file system that knows no holes
            return position;
        }
        throw NativeCallException.of(errno, "lseek of ", path);
    }

    /** Reads from a file. Returns the number of bytes, which is smaller at the end of the file. */
    long readAt(int fd, long address, long length, long position, Path path) throws NativeCallException {
        while (true) {
            long read = libc.pread(fd, address, length, position);
            if (read >= 0) {
                return read;
            }
            throwUnlessInterrupted("pread of " + length + " bytes at " + position + " of ", path);
        }
    }

    long writeAt(int fd, long address, long length, long position, Path path) throws NativeCallException {
        while (true) {
            long written = libc.pwrite(fd, address, length, position);
            if (written >= 0) {
                return written;
            }
            throwUnlessInterrupted("pwrite of " + length + " bytes at " + position + " of ", path);
        }
    }

    long map(int fd, Mapping mapping, long offset, long length, Path path) throws NativeCallException {
        long address = libc.mmap(ANY_ADDRESS, length, mapping.protection, mapping.flags, fd, offset);
        if (address == MAP_FAILED) {
            throw failure("mmap of " + sizeText(length) + " at " + offset + " of ", path);
        }
        return address;
    }

    /** Ends a mapping, or the given part of it. */
    public void unmap(long address, long length) throws NativeCallException {
        if (libc.munmap(address, length) != 0) {
            throw failure("munmap of " + sizeText(length), null);
        }
    }

    /** Advises about whole pages. */
    public void advise(long address, long length, Advice advice) throws NativeCallException {
        while (libc.madvise(address, length, advice.number) != 0) {
            throwUnlessInterrupted("madvise " + advice + " of " + sizeText(length), null);
        }
    }

    /** Copies between ranges that do not overlap. A fault on either kills the process. */
    public void copy(long from, long to, long length) {
        libc.memcpy(to, from, length);
    }

    /** Returns a buffer over memory. It does not keep the memory mapped. */
    public ByteBuffer bufferAt(long address, int length) {
        return MemoryIO.getInstance().newDirectByteBuffer(address, length);
    }

    /** Returns the waits for descriptors. */
    DescriptorWaits waits() {
        return waits;
    }

    DirectoryTree tree() {
        return tree;
    }

    private void throwUnlessInterrupted(String what, Path path) throws NativeCallException {
        NativeCallException failure = failure(what, path);
        if (!failure.is(LibC.EINTR)) {
            throw failure;
        }
        LockSupport.parkNanos(1); // lets the sender of the signals run
    }

    private NativeCallException failure(String what, Path path) {
        return NativeCallException.of(libc.errno(), what, path);
    }

    private static String sizeText(long bytes) {
        if (bytes >= 1 << 20 && bytes % (1 << 20) == 0) {
            return (bytes >> 20) + " MiB";
        }
        return bytes + " bytes";
    }
}
