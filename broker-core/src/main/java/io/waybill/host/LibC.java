package io.waybill.host;

import jnr.ffi.Pointer;

/** Holds the shape of libc's functions; package-private so that {@link NativeCalls} alone can name them. */
final class LibC {
    private LibC() {}

    /**
     * libc as {@link NativeCalls} binds it. Public because the generated binding must see it.
     *
     * <p>Addresses, sizes and offsets are {@code long}: pointers, {@code size_t} and {@code off_t} on every 64-bit Linux.
     * {@code openat} is variadic in C; its mode is passed as a plain int, which the System V and the AArch64 Linux conventions
     * put into the same register.
     */
    public interface Functions {
        int openat(int directory, byte[] path, int flags, int mode);

        int close(int fd);

        int flock(int fd, int operation);

        int mkfifoat(int directory, byte[] path, int mode);

        int unlinkat(int directory, byte[] path, int flags);

        int renameat2(int fromDirectory, byte[] from, int toDirectory, byte[] to, int flags);

        int ppoll(long fds, long count, long timeout, long signals);

        int epoll_create1(int flags);

        int epoll_ctl(int epoll, int operation, int fd, long event);

        int inotify_init1(int flags);

        int inotify_add_watch(int inotify, byte[] path, int events);

        int eventfd(int initial, int flags);

        long read(int fd, long address, long length);

        long write(int fd, long address, long length);

        long pread(int fd, long address, long length, long position);

        long pwrite(int fd, long address, long length, long position);

        int fallocate(int fd, int mode, long offset, long length);

        int ftruncate(int fd, long length);

        int fdatasync(int fd);

        int fsync(int fd);

        int statx(int directory, byte[] path, int flags, int mask, long status);

        long lseek(int fd, long offset, int whence);

        /** The address wished for, null, is a pointer: with six integers jnr-ffi's x86-64 stub would pass a wrong offset. */
        long mmap(Pointer wish, long length, int protection, int flags, int fd, long offset);

        int munmap(long address, long length);

        int madvise(long address, long length, int advice);

        long memcpy(long to, long from, long length);

        int clock_gettime(int clock, long timespec);

        /** For calls that an older libc has no function for. */
        long syscall(long number, long first, long second);

        int setpriority(int which, int who, int priority);

        int geteuid();

        int getpid();
    }
}
