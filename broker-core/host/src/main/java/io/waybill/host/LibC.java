package io.waybill.host;

import com.kenai.jffi.ArrayFlags;
import com.kenai.jffi.CallingConvention;
import com.kenai.jffi.Function;
import com.kenai.jffi.HeapInvocationBuffer;
import com.kenai.jffi.Invoker;
import com.kenai.jffi.LastError;
import com.kenai.jffi.Library;
import com.kenai.jffi.MemoryIO;
import com.kenai.jffi.Type;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/**
 * Functions of libc, bound with jffi; for {@link NativeCalls} and {@link DescriptorWaits} only. Tests override single
 * functions.
 *
 * <p>Addresses, sizes and offsets are {@code long}: pointers, {@code size_t} and {@code off_t} on every 64-bit Linux.
 * {@code openat} and {@code ioctl} are variadic in C; their last argument is passed as a normal one, which the System V
 * and the AArch64 Linux conventions put into the same register.
 *
 * <p><b>Threads.</b> Thread-safe. <b>Memory.</b> A function allocates only if it takes an array. <b>Errors.</b> As in
 * C: the result, and {@link #errno}.
 */
class LibC {
    // Numbers of errors, the same on every architecture of Linux; jnr-constants has the names and texts of all, which
    // take long to load.
    static final int ENOENT = 2;
    static final int EINTR = 4;
    static final int ENXIO = 6;
    static final int EAGAIN = 11;
    static final int EEXIST = 17;
    static final int EINVAL = 22;
    static final int EPIPE = 32;

    private static final Type INT = Type.SINT32;
    private static final Type LONG = Type.SINT64;
    private static final Type POINTER = Type.POINTER;

    static {
        loadLibrary();
    }

    private final Library library = Library.getDefault();
    private final Invoker invoker = Invoker.getInstance();
    private final LastError lastError = LastError.getInstance();

    private final Function openat = bind("openat", INT, INT, POINTER, INT, INT);
    private final Function close = bind("close", INT, INT);
    private final Function flock = bind("flock", INT, INT, INT);
    private final Function mkfifoat = bind("mkfifoat", INT, INT, POINTER, INT);
    private final Function unlinkat = bind("unlinkat", INT, INT, POINTER, INT);
    private final Function renameat2 = bind("renameat2", INT, INT, POINTER, INT, POINTER, INT);
    private final Function mkdirat = bind("mkdirat", INT, INT, POINTER, INT);
    private final Function symlinkat = bind("symlinkat", INT, POINTER, INT, POINTER);
    private final Function utimensat = bind("utimensat", INT, INT, POINTER, POINTER, INT);
    private final Function ppoll = bind("ppoll", INT, POINTER, LONG, POINTER, POINTER);
    private final Function epollCreate = bind("epoll_create1", INT, INT);
    private final Function epollCtl = bind("epoll_ctl", INT, INT, INT, INT, POINTER);
    private final Function inotifyInit = bind("inotify_init1", INT, INT);
    private final Function inotifyAddWatch = bind("inotify_add_watch", INT, INT, POINTER, INT);
    private final Function eventfd = bind("eventfd", INT, INT, INT);
    private final Function read = bind("read", LONG, INT, POINTER, LONG);
    private final Function write = bind("write", LONG, INT, POINTER, LONG);
    private final Function pread = bind("pread", LONG, INT, POINTER, LONG, LONG);
    private final Function pwrite = bind("pwrite", LONG, INT, POINTER, LONG, LONG);
    private final Function fallocate = bind("fallocate", INT, INT, INT, LONG, LONG);
    private final Function ftruncate = bind("ftruncate", INT, INT, LONG);
    private final Function fdatasync = bind("fdatasync", INT, INT);
    private final Function fsync = bind("fsync", INT, INT);
    private final Function statx = bind("statx", INT, INT, POINTER, INT, INT, POINTER);
    private final Function lseek = bind("lseek", LONG, INT, LONG, INT);
    private final Function mmap = bind("mmap", POINTER, POINTER, LONG, INT, INT, INT, LONG);
    private final Function munmap = bind("munmap", INT, POINTER, LONG);
    private final Function madvise = bind("madvise", INT, POINTER, LONG, INT);
    private final Function memcpy = bind("memcpy", POINTER, POINTER, POINTER, LONG);
    private final Function clockGettime = bind("clock_gettime", INT, INT, POINTER);
    private final Function syscall = bind("syscall", LONG, LONG, LONG, LONG);
    private final Function setpriority = bind("setpriority", INT, INT, INT, INT);
    private final Function ioctl = bind("ioctl", INT, INT, LONG, POINTER);
    private final Function geteuid = bind("geteuid", INT);
    private final Function getpid = bind("getpid", INT);
    private final Function strerror = bind("strerror", POINTER, INT);

    /**
     * Binds the functions.
     *
     * @throws LinkageError when jffi can't be loaded, or libc lacks a function
     */
    LibC() {}

    private Function bind(String name, Type result, Type... parameters) {
        long address = library.getSymbolAddress(name);
        if (address == 0) {
            throw new UnsatisfiedLinkError("libc has no function " + name);
        }
        return new Function(address, result, parameters, CallingConvention.DEFAULT, true);
    }

    /**
     * Returns the errno of the function that this thread called last. It is only valid after a function that failed.
     */
    final int errno() {
        return lastError.get();
    }

    int openat(int directory, byte[] path, int flags, int mode) {
        HeapInvocationBuffer arguments = new HeapInvocationBuffer(openat);
        arguments.putInt(directory);
        putPath(arguments, path);
        arguments.putInt(flags);
        arguments.putInt(mode);
        return invoker.invokeInt(openat, arguments);
    }

    int close(int fd) {
        return (int) invoker.invokeNrN(close, fd);
    }

    int flock(int fd, int operation) {
        return (int) invoker.invokeNNrN(flock, fd, operation);
    }

    int mkfifoat(int directory, byte[] path, int mode) {
        return withPath(mkfifoat, directory, path, mode);
    }

    int unlinkat(int directory, byte[] path, int flags) {
        return withPath(unlinkat, directory, path, flags);
    }

    int renameat2(int fromDirectory, byte[] from, int toDirectory, byte[] to, int flags) {
        HeapInvocationBuffer arguments = new HeapInvocationBuffer(renameat2);
        arguments.putInt(fromDirectory);
        putPath(arguments, from);
        arguments.putInt(toDirectory);
        putPath(arguments, to);
        arguments.putInt(flags);
        return invoker.invokeInt(renameat2, arguments);
    }

    int mkdirat(int directory, byte[] path, int mode) {
        return withPath(mkdirat, directory, path, mode);
    }

    int symlinkat(byte[] target, int directory, byte[] path) {
        HeapInvocationBuffer arguments = new HeapInvocationBuffer(symlinkat);
        putPath(arguments, target);
        arguments.putInt(directory);
        putPath(arguments, path);
        return invoker.invokeInt(symlinkat, arguments);
    }

    /** @param times two {@code struct timespec}: of the last access, and of the last change */
    int utimensat(int directory, byte[] path, long[] times, int flags) {
        HeapInvocationBuffer arguments = new HeapInvocationBuffer(utimensat);
        arguments.putInt(directory);
        putPath(arguments, path);
        arguments.putArray(times, 0, times.length, ArrayFlags.IN);
        arguments.putInt(flags);
        return invoker.invokeInt(utimensat, arguments);
    }

    int ppoll(long fds, long count, long timeout, long signals) {
        return (int) invoker.invokeNNNNrN(ppoll, fds, count, timeout, signals);
    }

    int epollCreate(int flags) {
        return (int) invoker.invokeNrN(epollCreate, flags);
    }

    /** @param event address of a {@code struct epoll_event} */
    int epollCtl(int epoll, int operation, int fd, long event) {
        return (int) invoker.invokeNNNNrN(epollCtl, epoll, operation, fd, event);
    }

    int inotifyInit(int flags) {
        return (int) invoker.invokeNrN(inotifyInit, flags);
    }

    int inotifyAddWatch(int inotify, byte[] path, int events) {
        return withPath(inotifyAddWatch, inotify, path, events);
    }

    int eventfd(int initial, int flags) {
        return (int) invoker.invokeNNrN(eventfd, initial, flags);
    }

    long read(int fd, long address, long length) {
        return invoker.invokeNNNrN(read, fd, address, length);
    }

    long write(int fd, long address, long length) {
        return invoker.invokeNNNrN(write, fd, address, length);
    }

    long pread(int fd, long address, long length, long position) {
        return invoker.invokeNNNNrN(pread, fd, address, length, position);
    }

    long pwrite(int fd, long address, long length, long position) {
        return invoker.invokeNNNNrN(pwrite, fd, address, length, position);
    }

    int fallocate(int fd, int mode, long offset, long length) {
        return (int) invoker.invokeNNNNrN(fallocate, fd, mode, offset, length);
    }

    int ftruncate(int fd, long length) {
        return (int) invoker.invokeNNrN(ftruncate, fd, length);
    }

    int fdatasync(int fd) {
        return (int) invoker.invokeNrN(fdatasync, fd);
    }

    int fsync(int fd) {
        return (int) invoker.invokeNrN(fsync, fd);
    }

    /** @param status receives a {@code struct statx} */
    int statx(int directory, byte[] path, int flags, int mask, long[] status) {
        HeapInvocationBuffer arguments = new HeapInvocationBuffer(statx);
        arguments.putInt(directory);
        putPath(arguments, path);
        arguments.putInt(flags);
        arguments.putInt(mask);
        arguments.putArray(status, 0, status.length, ArrayFlags.OUT | ArrayFlags.CLEAR);
        return invoker.invokeInt(statx, arguments);
    }

    long lseek(int fd, long offset, int whence) {
        return invoker.invokeNNNrN(lseek, fd, offset, whence);
    }

    long mmap(long wish, long length, int protection, int flags, int fd, long offset) {
        return invoker.invokeNNNNNNrN(mmap, wish, length, protection, flags, fd, offset);
    }

    int munmap(long address, long length) {
        return (int) invoker.invokeNNrN(munmap, address, length);
    }

    int madvise(long address, long length, int advice) {
        return (int) invoker.invokeNNNrN(madvise, address, length, advice);
    }

    long memcpy(long to, long from, long length) {
        return invoker.invokeNNNrN(memcpy, to, from, length);
    }

    int clockGettime(int clock, long timespec) {
        return (int) invoker.invokeNNrN(clockGettime, clock, timespec);
    }

    /** Calls a system call that an older libc has no function for. */
    long syscall(long number, long first, long second) {
        return invoker.invokeNNNrN(syscall, number, first, second);
    }

    int ioctl(int fd, long request, long address) {
        return (int) invoker.invokeNNNrN(ioctl, fd, request, address);
    }

    int setpriority(int which, int who, int priority) {
        return (int) invoker.invokeNNNrN(setpriority, which, who, priority);
    }

    int geteuid() {
        return (int) invoker.invokeVrN(geteuid);
    }

    /**
     * Loads jffi's library. jffi writes the version in the library's name with the digits of the default locale, and
     * the name has others.
     */
    private static void loadLibrary() {
        if (String.format(Locale.getDefault(Locale.Category.FORMAT), "%d", 0).equals("0")) {
            return; // it is loaded at the first use
        }
        Locale digits = Locale.getDefault(Locale.Category.FORMAT);
        Locale.setDefault(Locale.Category.FORMAT, Locale.ROOT);
        try {
            Library.getDefault();
        } finally {
            Locale.setDefault(Locale.Category.FORMAT, digits);
        }
    }

    /** Returns the text of an error, in the language of the process; decoded as UTF-8. */
    String strerror(int errno) {
        return new String(
                MemoryIO.getInstance().getZeroTerminatedByteArray(invoker.invokeNrN(strerror, errno)),
                StandardCharsets.UTF_8);
    }

    int getpid() {
        return (int) invoker.invokeVrN(getpid);
    }

    private int withPath(Function function, int descriptor, byte[] path, int last) {
        HeapInvocationBuffer arguments = new HeapInvocationBuffer(function);
        arguments.putInt(descriptor);
        putPath(arguments, path);
        arguments.putInt(last);
        return invoker.invokeInt(function, arguments);
    }

    private static void putPath(HeapInvocationBuffer arguments, byte[] path) {
        arguments.putArray(path, 0, path.length, ArrayFlags.IN);
    }
}
