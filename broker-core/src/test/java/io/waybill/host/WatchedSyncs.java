package io.waybill.host;

import com.kenai.jffi.LastError;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import jnr.constants.platform.Errno;

/** The real host, but that somebody sees each of its syncs first, and may hold it up or make it fail. */
public final class WatchedSyncs {

    /** Hears of a sync before it is made. Any thread. */
    @FunctionalInterface
    public interface Watcher {

        /** @throws IOException when the disk is to fail: the kernel then says EIO, and is not asked */
        void beforeSync(Path file) throws IOException;
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
            return mayGoOn(fd) ? super.fdatasync(fd) : failed();
        }

        @Override
        int fsync(int fd) {
            return mayGoOn(fd) ? super.fsync(fd) : failed();
        }

        private boolean mayGoOn(int descriptor) {
            try {
                watcher.beforeSync(Files.readSymbolicLink(Path.of("/proc/self/fd/" + descriptor)));
                return true;
            } catch (IOException e) {
                return false;
            }
        }

        private static int failed() {
            LastError.getInstance().set(Errno.EIO.intValue());
            return -1;
        }
    }
}
