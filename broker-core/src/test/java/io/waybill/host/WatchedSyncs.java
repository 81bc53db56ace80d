package io.waybill.host;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import jnr.constants.platform.Errno;
import jnr.ffi.LastError;
import jnr.ffi.LibraryLoader;
import jnr.ffi.LibraryOption;
import jnr.ffi.Runtime;
import jnr.ffi.provider.LoadedLibrary;

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
        NativeCalls calls = new NativeCalls(libc(watcher));
        return new Host(new HostClock(calls), new SafeFiles(calls), new HostProcesses(calls), new HostThreads(), calls);
    }

    private static LibC.Functions libc(Watcher watcher) {
        LibC.Functions real = LibraryLoader.create(LibC.Functions.class)
                .option(LibraryOption.SaveError, Boolean.TRUE)
                .load("c");
        Runtime runtime = Runtime.getRuntime(real);
        return (LibC.Functions) Proxy.newProxyInstance(
                WatchedSyncs.class.getClassLoader(),
                new Class<?>[] {LibC.Functions.class, LoadedLibrary.class},
                (proxy, method, arguments) -> {
                    boolean syncs = method.getName().equals("fdatasync")
                            || method.getName().equals("fsync");
                    if (syncs && !mayGoOn(watcher, (Integer) arguments[0])) {
                        LastError.setLastError(runtime, Errno.EIO.intValue());
                        return -1;
                    }
                    return call(real, method, arguments);
                });
    }

    private static boolean mayGoOn(Watcher watcher, int descriptor) {
        try {
            watcher.beforeSync(Files.readSymbolicLink(Path.of("/proc/self/fd/" + descriptor)));
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    private static Object call(Object real, Method method, Object[] arguments) throws Throwable {
        try {
            return method.invoke(real, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }
}
