package io.waybill.host;

import com.kenai.jffi.LastError;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import jnr.constants.platform.Errno;

/** The real host, but that a test sees each of its syncs, reservations, opened files and advice about memory first, and may hold it up or make it fail. */
public final class WatchedSyncs {

    /** Hears of a call before it is made. Any thread. A call that throws fails with EIO, and the kernel is not asked. */
    @FunctionalInterface
    public interface Watcher {

        void beforeSync(Path file) throws IOException;

        default void beforeReserve(Path file) throws IOException {}

        default void beforeOpen(Path file) throws IOException {}

        /** Hears of advice about mapped memory. Returns the number of the error with which it fails; 0 for none. */
        default int beforeAdvise(long address, long length) {
            return 0;
        }
    }

    /** One of the watcher's methods. */
    private interface Call {
        void before(Path file) throws IOException;
    }

    private WatchedSyncs() {}

    public static Host host(Watcher watcher) {
        return Host.of(new NativeCalls(new WatchedLibC(watcher)));
    }

    private static final class WatchedLibC extends LibC {
        private final Watcher watcher;

        WatchedLibC(Watcher watcher) {
            this.watcher = watcher;
        }

        @Override
        int fdatasync(int fd) {
            return mayGoOn(fd, watcher::beforeSync) ? super.fdatasync(fd) : failed();
        }

        @Override
        int fsync(int fd) {
            return mayGoOn(fd, watcher::beforeSync) ? super.fsync(fd) : failed();
        }

        @Override
        int fallocate(int fd, int mode, long offset, long length) {
            return mayGoOn(fd, watcher::beforeReserve) ? super.fallocate(fd, mode, offset, length) : failed();
        }

        @Override
        int openat(int directory, byte[] path, int flags, int mode) {
            String name = new String(path, StandardCharsets.UTF_8).replace("\0", "");
            return mayGoOn(directory, in -> watcher.beforeOpen(in.resolve(name)))
                    ? super.openat(directory, path, flags, mode)
                    : failed();
        }

        @Override
        int madvise(long address, long length, int advice) {
            int errno = watcher.beforeAdvise(address, length);
            return errno == 0 ? super.madvise(address, length, advice) : failed(errno);
        }

        private static boolean mayGoOn(int descriptor, Call call) {
            String link = descriptor == NativeCalls.AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/" + descriptor;
            try {
                call.before(Files.readSymbolicLink(Path.of(link)));
                return true;
            } catch (IOException e) {
                return false;
            }
        }

        private static int failed() {
            return failed(Errno.EIO.intValue());
        }

        private static int failed(int errno) {
            LastError.getInstance().set(errno);
            return -1;
        }
    }
}
