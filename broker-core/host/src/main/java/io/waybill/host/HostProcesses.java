package io.waybill.host;

import com.sun.management.HotSpotDiagnosticMXBean;
import io.waybill.host.DescriptorWaits.WaitingRoom;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Processes that {@code /proc} shows.
 *
 * <p><b>Threads.</b> Thread-safe; immutable.
 */
final class HostProcesses implements Processes {
    /**
     * Max size of a process's stat: a name is at most 16 bytes and the numbers before the start time at most 20 each.
     */
    private static final int STAT_BYTES = 1024;

    private static final int START_TIME_FIELD = 22;
    private static final int STATE_FIELD = 3;
    private static final long TICK_NS = 10_000_000; // tick of all times in /proc
    /** Max difference between the start times of one process as two time namespaces see them: each is rounded. */
    private static final long ROUNDED_TICKS = 1;

    private static final Pattern MEMORY = Pattern.compile("MemTotal: +([0-9]{1,15}) kB");
    private static final long UNKNOWN_MEMORY_BYTES = 8L << 30;

    private final NativeCalls calls;
    private final long bootOffsetTicks = HostClock.TimeNamespace.own().bootNs() / TICK_NS;
    private final ProcessIdentity self;

    HostProcesses(NativeCalls calls) {
        this.calls = calls;
        try {
            byte[] stat = readStat(Path.of("/proc/self/stat"));
            long pid = calls.processId();
            String bootId =
                    Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).trim();
            String namespace =
                    Files.readSymbolicLink(Path.of("/proc/self/ns/pid")).toString();
            self = new ProcessIdentity(pid, startTime(stat), bootId, namespace, calls.effectiveUser());
        } catch (IOException | NumberFormatException e) {
            throw new IllegalStateException("/proc does not describe this process: " + e, e);
        }
    }

    @Override
    public ProcessIdentity self() {
        return self;
    }

    @Override
    public Liveness liveness(ProcessIdentity process) {
        if (!process.bootId().equals(self.bootId())) {
            return Liveness.DEAD;
        }
        if (!process.pidNamespace().equals(self.pidNamespace())) {
            return Liveness.UNKNOWN;
        }
        if (process.pid() <= 0) {
            return Liveness.DEAD;
        }
        Path stat = Path.of("/proc/" + process.pid() + "/stat");
        try {
            byte[] fields = readStat(stat);
            char state = field(fields, STATE_FIELD).charAt(0);
            // a zombie has exited and only waits for its parent to reap it
            boolean ended = state == 'Z' || state == 'X' || state == 'x';
            boolean isSame = Math.abs(startTime(fields) - process.startTime()) <= ROUNDED_TICKS;
            return !ended && isSame ? Liveness.ALIVE : Liveness.DEAD;
        } catch (NoSuchFileException e) {
            return Liveness.DEAD;
        } catch (IOException | NumberFormatException e) {
            // it ended between the open and the read, or /proc hides it
            return Files.exists(stat) ? Liveness.UNKNOWN : Liveness.DEAD;
        }
    }

    @Override
    public ProcessWatch watch(ProcessIdentity process) {
        if (process.pidNamespace().equals(self.pidNamespace()) && liveness(process) == Liveness.ALIVE) {
            OptionalInt descriptor = calls.openProcess(process.pid());
            if (descriptor.isPresent()) {
                PidFdWatch watch = new PidFdWatch(calls, descriptor.getAsInt());
                // checked again with the descriptor open: in between, the pid may have been given to another process
                if (liveness(process) == Liveness.ALIVE) {
                    return watch;
                }
                watch.close();
            }
        }
        return Processes.super.watch(process);
    }

    private static byte[] readStat(Path path) throws IOException {
        try (InputStream in = Files.newInputStream(path)) {
            return in.readNBytes(STAT_BYTES);
        }
    }

    /** Returns the start time in ticks after the host's boot, in any time namespace. */
    private long startTime(byte[] stat) throws IOException {
        return Long.parseLong(field(stat, START_TIME_FIELD)) - bootOffsetTicks;
    }

    /**
     * Returns a field from the third on. The second is the program's name in brackets, which may contain any
     * characters.
     */
    static String field(byte[] stat, int number) throws IOException {
        int at = stat.length - 1;
        while (at >= 0 && stat[at] != ')') {
            at--;
        }
        at += 2;
        for (int current = STATE_FIELD; at > 1 && at < stat.length; current++) {
            int end = at;
            while (end < stat.length && stat[end] != ' ' && stat[end] != '\n') {
                end++;
            }
            if (current == number && end > at) {
                return new String(stat, at, end - at, StandardCharsets.US_ASCII);
            }
            at = end + 1;
        }
        throw new IOException("expected a field " + number + " in a process's stat, found "
                + new String(stat, StandardCharsets.ISO_8859_1));
    }

    /** Garbage collectors of this JVM. Each request for them takes as long as some hundred system calls. */
    private static final class Collectors {
        private static final List<GarbageCollectorMXBean> ALL =
                List.copyOf(ManagementFactory.getGarbageCollectorMXBeans());
    }

    @Override
    public long collectedMs() {
        long collectedMs = 0;
        for (GarbageCollectorMXBean collector : Collectors.ALL) {
            collectedMs += Math.max(0, collector.getCollectionTime());
        }
        return collectedMs;
    }

    @Override
    public Map<String, Long> jvmFigures() {
        Map<String, Long> values = new HashMap<>();
        MemoryUsage heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
        values.put("heap-used", heap.getUsed());
        values.put("heap-committed", heap.getCommitted());
        if (heap.getMax() >= 0) {
            values.put("heap-max", heap.getMax());
        }
        values.put(
                "non-heap-used",
                ManagementFactory.getMemoryMXBean().getNonHeapMemoryUsage().getUsed());
        for (BufferPoolMXBean pool : ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class)) {
            if (pool.getName().equals("direct") || pool.getName().equals("mapped")) {
                values.put(pool.getName() + "-used", Math.max(0, pool.getMemoryUsed()));
            }
        }
        long collections = 0;
        for (GarbageCollectorMXBean collector : Collectors.ALL) {
            collections += Math.max(0, collector.getCollectionCount());
        }
        values.put("collections", collections);
        values.put("collection-ms", collectedMs());
        values.put("threads", (long) ManagementFactory.getThreadMXBean().getThreadCount());
        return values;
    }

    /** Returns whether this JVM has an option of the form {@code -XX:NAME=VALUE}. */
    static boolean hasOption(String option) {
        String name = option.substring(option.indexOf(':') + 1, option.indexOf('='));
        try {
            ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class).getVMOption(name);
            return true;
        } catch (IllegalArgumentException e) { // also where the options can't be listed
            return false;
        }
    }

    // ---- memory

    /**
     * Returns the memory that this process may use: the host's, or the min limit of its control groups if that is less.
     *
     * @param root directory that contains {@code proc} and {@code sys}
     */
    static long memoryBytes(Path root) {
        Matcher total = MEMORY.matcher(text(root.resolve("proc/meminfo")));
        long bytes = total.find() ? Long.parseLong(total.group(1)) << 10 : UNKNOWN_MEMORY_BYTES;
        for (String line : text(root.resolve("proc/self/cgroup")).split("\n")) {
            String[] parts = line.split(":", 3);
            if (parts.length == 3 && parts[1].isEmpty()) {
                bytes = Math.min(bytes, limit(root.resolve("sys/fs/cgroup"), parts[2], "memory.max"));
            } else if (parts.length == 3 && Arrays.asList(parts[1].split(",")).contains("memory")) {
                bytes = Math.min(bytes, limit(root.resolve("sys/fs/cgroup/memory"), parts[2], "memory.limit_in_bytes"));
            }
        }
        return bytes;
    }

    /** Returns the min limit of the group and of the groups that contain it. */
    private static long limit(Path mount, String group, String name) {
        Path at = mount.resolve(group.replaceAll("^/+", "")).normalize();
        long least = Long.MAX_VALUE;
        for (Path up = at.startsWith(mount) ? at : mount; up.startsWith(mount); up = up.getParent()) {
            String text = text(up.resolve(name)).trim();
            if (text.matches("[0-9]{1,18}")) {
                least = Math.min(least, Long.parseLong(text));
            }
        }
        return least;
    }

    private static String text(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) { // no such file, so no limit
            return "";
        }
    }

    /**
     * Watches a process through a descriptor of it, which the kernel makes readable when the process has ended, reaped
     * or not, and which never refers to another process. One system call, half a microsecond, no garbage.
     */
    static final class PidFdWatch implements ProcessWatch {
        private final NativeCalls calls;
        private final int descriptor;
        private final WaitingRoom room = new WaitingRoom();
        private boolean closed;
        private Liveness liveness = Liveness.ALIVE;

        PidFdWatch(NativeCalls calls, int descriptor) {
            this.calls = calls;
            this.descriptor = descriptor;
        }

        @Override
        public synchronized Liveness liveness() {
            if (closed) {
                throw new IllegalStateException("closed");
            }
            if (liveness == Liveness.ALIVE && calls.waits().awaitReadable(descriptor, 0, room)) {
                liveness = Liveness.DEAD;
            }
            return liveness;
        }

        @Override
        public synchronized boolean endsWaitsOf(ChangeWatch changes) {
            return liveness == Liveness.ALIVE && !closed && changes.join(descriptor);
        }

        @Override
        public synchronized void close() {
            if (!closed) {
                closed = true;
                calls.close(descriptor);
            }
        }
    }

    /** Checks that a user is not the user that represents all users unknown to this user namespace. */
    static void requireMapped(int user) throws IOException {
        String overflow;
        // a number of /proc/sys is there in the first read only, and Files.readString begins with one of a byte
        try (BufferedReader lines = Files.newBufferedReader(Path.of("/proc/sys/kernel/overflowuid"))) {
            overflow = lines.readLine();
        }
        String mapping = Files.readString(Path.of("/proc/self/uid_map")).trim().replaceAll(" +", " ");
        if (String.valueOf(user).equals(overflow) && !mapping.equals("0 0 4294967295")) {
            throw new IOException("uid " + user
                    + " stands for every user unknown to this user namespace; files can't be"
                    + " told apart by it: run as a user that is mapped");
        }
    }
}
