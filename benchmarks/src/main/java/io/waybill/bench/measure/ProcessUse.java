package io.waybill.bench.measure;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Resources that a process has used so far. The host counts processor time in steps of about 10 ms. A thread that goes
 * to rest gives its processor up voluntarily, and is woken once for that; one that is preempted does so involuntarily.
 * Switches of threads that have ended are not known.
 *
 * @param cpuNs of all threads, including ended ones
 * @param threads by their ids
 */
public record ProcessUse(long cpuNs, Map<String, Switches> threads) {

    /** Context switches of a thread. */
    record Switches(long voluntary, long involuntary) {

        static final Switches NONE = new Switches(0, 0);

        Switches plus(Switches others) {
            return new Switches(voluntary + others.voluntary, involuntary + others.involuntary);
        }

        Switches minus(Switches others) {
            return new Switches(voluntary - others.voluntary, involuntary - others.involuntary);
        }

        private static Optional<Switches> of(Path thread) {
            try {
                List<String> status = Files.readAllLines(thread.resolve("status"));
                return Optional.of(new Switches(
                        number(status, "voluntary_ctxt_switches:"), number(status, "nonvoluntary_ctxt_switches:")));
            } catch (IOException e) {
                return Optional.empty(); // it has ended
            }
        }

        private static long number(List<String> status, String name) throws IOException {
            for (String line : status) {
                if (line.startsWith(name)) {
                    return Long.parseLong(line.substring(name.length()).strip());
                }
            }
            throw new IOException("no " + name + " in the status of a thread");
        }
    }

    public static ProcessUse ofThis() {
        return of(ProcessHandle.current());
    }

    /** @throws IllegalStateException when there is no such process */
    public static ProcessUse of(long pid) {
        return of(ProcessHandle.of(pid)
                .orElseThrow(() ->
                        new IllegalStateException("the use of a process is not known: no process has the id " + pid)));
    }

    private static ProcessUse of(ProcessHandle process) {
        long cpuNs = process.info()
                .totalCpuDuration()
                .map(Duration::toNanos)
                .orElseThrow(() ->
                        new IllegalStateException("the host tells no processor time of the process " + process.pid()));
        Map<String, Switches> threads = new HashMap<>();
        try (Stream<Path> all = Files.list(Path.of("/proc", Long.toString(process.pid()), "task"))) {
            all.forEach(thread -> Switches.of(thread)
                    .ifPresent(switches -> threads.put(thread.getFileName().toString(), switches)));
        } catch (IOException e) {
            throw new IllegalStateException("the threads of process " + process.pid() + " can't be listed", e);
        }
        return new ProcessUse(cpuNs, threads);
    }

    /** Adds the use since an earlier reading, per call, under names with this prefix. */
    void put(Figures figures, String prefix, ProcessUse before, long calls) {
        Switches sum = Switches.NONE;
        for (Map.Entry<String, Switches> thread : threads.entrySet()) {
            sum = sum.plus(thread.getValue().minus(before.threads.getOrDefault(thread.getKey(), Switches.NONE)));
        }
        figures.put(prefix + "cpu_ns_per_call", (cpuNs - before.cpuNs) / calls)
                .put(prefix + "wakeups_per_call", (double) sum.voluntary / calls)
                .put(prefix + "preemptions_per_call", (double) sum.involuntary / calls);
    }
}
