package io.waybill.cli.supervise;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Counter of the kernel's out-of-memory kills, in the control group of this process and on this host.
 *
 * <p><b>Threads.</b> Immutable.
 */
final class MemoryKills {

    private static final String COUNTER = "oom_kill ";

    private final List<Path> counters;

    /** @param counters files with a line {@code oom_kill N} */
    MemoryKills(List<Path> counters) {
        this.counters = List.copyOf(counters);
    }

    /** Creates the counter of this host. */
    static MemoryKills ofThisHost() {
        List<Path> counters = new ArrayList<>();
        Path groups = Path.of("/sys/fs/cgroup");
        counters.add(groups.resolve("memory.events"));
        for (String line : lines(Path.of("/proc/self/cgroup"))) {
            String[] parts = line.split(":", 3);
            if (parts.length == 3 && parts[1].isEmpty()) {
                counters.add(groups.resolve("." + parts[2]).normalize().resolve("memory.events"));
            } else if (parts.length == 3 && parts[1].equals("memory")) {
                counters.add(groups.resolve("memory/." + parts[2]).normalize().resolve("memory.oom_control"));
            }
        }
        counters.add(Path.of("/proc/vmstat"));
        return new MemoryKills(counters);
    }

    /** Returns the sum of all counters so far: only its growth has a meaning. */
    long count() {
        long sum = 0;
        for (Path counter : counters) {
            for (String line : lines(counter)) {
                if (line.startsWith(COUNTER)) {
                    sum += number(line.substring(COUNTER.length()).strip());
                }
            }
        }
        return sum;
    }

    private static long number(String text) {
        return text.matches("[0-9]{1,15}") ? Long.parseLong(text) : 0;
    }

    private static List<String> lines(Path file) {
        try {
            return Files.readAllLines(file, StandardCharsets.UTF_8);
        } catch (IOException e) {
            return List.of(); // this host has no such counter
        }
    }
}
