package io.waybill.host;

import com.kenai.jffi.CallingConvention;
import com.kenai.jffi.Function;
import com.kenai.jffi.LastError;
import com.kenai.jffi.Library;
import com.kenai.jffi.Type;
import io.waybill.host.agent.Invoker;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import jnr.constants.platform.Errno;

/**
 * A process that exists for the workers of one simulation only: its threads have turns in an {@link Invoker}, its identity is made up, and
 * what the kernel would release when it is killed is released by {@link #kill}.
 *
 * <p><b>Threads.</b> The invoker's.
 */
public final class SimulatedProcess {

    private static final String BOOT = "simulated";
    private static final Function DUP2 = new Function(
            Library.getDefault().getSymbolAddress("dup2"),
            Type.SINT32,
            new Type[] {Type.SINT32, Type.SINT32},
            CallingConvention.DEFAULT,
            true);

    /** The disk of all processes: says which calls fail. */
    public interface Disk {

        /** Returns the error of this call, by its name in C; null when it does not fail. */
        Errno failure(String call);
    }

    private final long pid;
    private final Disk disk;
    private final Set<Long> living;
    private final Invoker.Group threads;
    private final Host host;
    private final Set<Integer> descriptors = new HashSet<>();
    private boolean killed;

    /**
     * Starts one.
     *
     * @param living the pids of the processes that live
     */
    public SimulatedProcess(long pid, Set<Long> living, Invoker invoker, Disk disk) {
        this.pid = pid;
        this.disk = disk;
        this.living = living;
        this.threads = invoker.newGroup();
        NativeCalls calls = new NativeCalls(new SimulatedLibC());
        this.host = new Host(threads.clock(), new SafeFiles(calls), new SimulatedProcesses(), threads, calls);
        living.add(pid);
    }

    public Host host() {
        return host;
    }

    /** Returns the names of its threads that have not ended. */
    public List<String> threads() {
        return threads.alive();
    }

    /** Ends it as SIGKILL does: no thread of it runs again, and its locks and descriptors are gone. */
    public void kill() {
        threads.abandon();
        living.remove(pid);
        killed = true;
        SimulatedLibC libc = new SimulatedLibC();
        int none = libc.openat(NativeCalls.AT_FDCWD, PathBytes.of(Path.of("/dev/null")), 2, 0);
        // the numbers stay taken until the worker's objects are closed: what they still do harms no other file
        descriptors.forEach(each -> com.kenai.jffi.Invoker.getInstance().invokeNNrN(DUP2, none, each));
        libc.close(none);
    }

    /** Ends it after its workers have left. */
    public void exit() {
        threads.abandon();
        living.remove(pid);
    }

    private final class SimulatedProcesses implements Processes {

        @Override
        public ProcessIdentity self() {
            return new ProcessIdentity(pid, pid, BOOT, BOOT, host.files().owner());
        }

        @Override
        public Liveness liveness(ProcessIdentity process) {
            return living.contains(process.pid()) ? Liveness.ALIVE : Liveness.DEAD;
        }
    }

    private final class SimulatedLibC extends LibC {

        private boolean fails(String call) {
            Errno errno = killed ? null : disk.failure(call);
            if (errno != null) {
                LastError.getInstance().set(errno.intValue());
            }
            return errno != null;
        }

        private int opened(int descriptor) {
            if (descriptor >= 0) {
                descriptors.add(descriptor);
            }
            return descriptor;
        }

        @Override
        int openat(int directory, byte[] path, int flags, int mode) {
            return fails("openat") ? -1 : opened(super.openat(directory, path, flags, mode));
        }

        @Override
        int epollCreate(int flags) {
            return opened(super.epollCreate(flags));
        }

        @Override
        int inotifyInit(int flags) {
            return opened(super.inotifyInit(flags));
        }

        @Override
        int eventfd(int initial, int flags) {
            return opened(super.eventfd(initial, flags));
        }

        @Override
        int close(int descriptor) {
            descriptors.remove(descriptor);
            return super.close(descriptor);
        }

        @Override
        int unlinkat(int directory, byte[] path, int flags) {
            return fails("unlinkat") ? -1 : super.unlinkat(directory, path, flags);
        }

        @Override
        int renameat2(int fromDirectory, byte[] from, int toDirectory, byte[] to, int flags) {
            return fails("renameat2") ? -1 : super.renameat2(fromDirectory, from, toDirectory, to, flags);
        }

        @Override
        int mkdirat(int directory, byte[] path, int mode) {
            return fails("mkdirat") ? -1 : super.mkdirat(directory, path, mode);
        }

        @Override
        int symlinkat(byte[] target, int directory, byte[] path) {
            return fails("symlinkat") ? -1 : super.symlinkat(target, directory, path);
        }

        @Override
        int utimensat(int directory, byte[] path, long[] times, int flags) {
            return fails("utimensat") ? -1 : super.utimensat(directory, path, times, flags);
        }

        @Override
        int fallocate(int descriptor, int mode, long offset, long length) {
            return fails("fallocate") ? -1 : super.fallocate(descriptor, mode, offset, length);
        }

        @Override
        int ftruncate(int descriptor, long length) {
            return fails("ftruncate") ? -1 : super.ftruncate(descriptor, length);
        }

        @Override
        int fsync(int descriptor) {
            return fails("fsync") ? -1 : 0; // nothing is cut off here, so that a sync is worth its time
        }

        @Override
        int fdatasync(int descriptor) {
            return fails("fdatasync") ? -1 : 0;
        }

        @Override
        long pread(int descriptor, long address, long length, long position) {
            return fails("pread") ? -1 : super.pread(descriptor, address, length, position);
        }

        @Override
        long pwrite(int descriptor, long address, long length, long position) {
            return fails("pwrite") ? -1 : super.pwrite(descriptor, address, length, position);
        }
    }
}
