package io.waybill.bench.measure;

import io.waybill.host.Host;
import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/** Disk space of a home's journals, and their files that processes have open, in periodic checks. One thread. */
public final class HomeOnDisk {

    private static final List<String> COUNTED =
            List.of("requests", "responses", "index", "archive/requests", "archive/responses");
    private static final String QUEUE_FILE = ".cq4";
    private static final String REMOVED = "(deleted)";
    /** Number of checks after which a reader with an open removed file counts as stuck. */
    private static final int STUCK_AFTER_LOOKS = 30;

    private record Held(long pid, String file) {}

    private final Path home;
    private final List<Long> processes;
    private final SafeFiles files = Host.real().files();
    private final Set<Path> seen = new HashSet<>();
    private final Map<Held, Integer> held = new HashMap<>();
    private final Set<Held> stuck = new HashSet<>();
    private Set<Path> there = Set.of();
    private long maxBytes;
    private long maxRemovedOpen;
    private long filesOpen;
    private long filesOpenAtStart = -1;

    public HomeOnDisk(Path home, List<Long> processes) {
        this.home = home;
        this.processes = processes;
    }

    public void look() throws IOException {
        there = new HashSet<>();
        for (Path worker : list(home.resolve("workers"))) {
            long bytes = 0;
            for (String name : COUNTED) {
                for (Path file : list(worker.resolve(name))) {
                    bytes += bytesOf(file);
                    if (file.toString().endsWith(QUEUE_FILE)) {
                        there.add(file);
                    }
                }
            }
            maxBytes = Math.max(maxBytes, bytes);
        }
        seen.addAll(there);
        lookAtProcesses();
    }

    private static List<Path> list(Path directory) throws IOException {
        if (!Files.isDirectory(directory)) {
            return List.of();
        }
        try (Stream<Path> entries = Files.list(directory)) {
            return entries.toList();
        }
    }

    private long bytesOf(Path file) throws IOException {
        try {
            return files.allocatedBytes(file);
        } catch (NoSuchFileException e) {
            return 0;
        }
    }

    private void lookAtProcesses() throws IOException {
        Set<Held> now = new HashSet<>();
        filesOpen = 0;
        for (long pid : processes) {
            Path process = Path.of("/proc", Long.toString(pid));
            if (Files.isDirectory(process.resolve("fd"))) {
                for (Path descriptor : list(process.resolve("fd"))) {
                    filesOpen++;
                    add(now, pid, targetOf(descriptor));
                }
                try (Stream<String> maps = Files.lines(process.resolve("maps"))) {
                    maps.forEach(line -> add(now, pid, line.substring(line.indexOf('/') < 0 ? 0 : line.indexOf('/'))));
                }
            }
        }
        held.keySet().retainAll(now);
        for (Held one : now) {
            if (held.merge(one, 1, Integer::sum) > STUCK_AFTER_LOOKS) {
                stuck.add(one);
            }
        }
        maxRemovedOpen = Math.max(maxRemovedOpen, held.size());
        if (filesOpenAtStart < 0) {
            filesOpenAtStart = filesOpen;
        }
    }

    private static void add(Set<Held> now, long pid, String file) {
        if (file.contains(QUEUE_FILE) && file.endsWith(REMOVED)) {
            now.add(new Held(pid, file));
        }
    }

    private static String targetOf(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString();
        } catch (IOException e) {
            return ""; // closed meanwhile
        }
    }

    /** Returns the max size of one worker's journals in any check. */
    public long maxBytes() {
        return maxBytes;
    }

    public long filesRemoved() {
        return seen.size() - there.size();
    }

    /** Returns the number of removed files that processes have open or mapped now. */
    public long removedOpen() {
        return held.size();
    }

    public long maxRemovedOpen() {
        return maxRemovedOpen;
    }

    /** Returns the number of processes that had a removed file open for half a minute. */
    public long stuckReaders() {
        return stuck.size();
    }

    public long filesOpenAtStart() {
        return filesOpenAtStart;
    }

    public long filesOpen() {
        return filesOpen;
    }
}
