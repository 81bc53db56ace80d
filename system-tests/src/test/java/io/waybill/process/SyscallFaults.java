package io.waybill.process;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Fails chosen system calls of one process, which is started {@linkplain #prefix() behind a program} in C: {@code src/test/c/syscall-faults.c}
 * says how. Nothing fails before {@link #arm} or after {@link #disarm}.
 *
 * <p><b>Threads.</b> Belongs to one.
 */
public final class SyscallFaults {

    /** Set by the profiles that must not skip tests. */
    private static final String REQUIRED_PROPERTY = "waybill.gcc.required";

    private static final Path SOURCE = Path.of("src", "test", "c", "syscall-faults.c");
    private static final int LIMIT_S = 120;

    /** In a path: of workers, files of queues, and segments. */
    private static final Pattern NUMBERS = Pattern.compile("[0-9]+");

    private static Path program; // guarded by the class

    private final Path directory;

    /** A system call: its name in the program's table, and the error that it fails with. */
    public record Failing(String call, int errno) {}

    /** Which calls fail. */
    public enum Extent {
        ONE,
        ALL_FROM
    }

    /**
     * Prepares the supervision of one process. Skips the test where there is no gcc.
     *
     * @param directory for the rule and the log; made if it does not exist
     */
    public SyscallFaults(Path directory) throws IOException {
        this.directory = Files.createDirectories(directory);
        compiled();
    }

    /** Returns what stands before the program that is supervised, in its command. */
    public List<String> prefix() throws IOException {
        return List.of(compiled().toString(), directory.toString());
    }

    /** Begins to count and log all calls for files below a directory, and threads that are started. None fails. */
    public void count(Path under) throws IOException {
        write("any under=" + under);
    }

    /** Begins to count the calls of one name for files below a directory; the n-th fails, and with {@link Extent#ALL_FROM} all after it. */
    public void arm(Failing failing, long nth, Extent extent, Path under) throws IOException {
        arm(failing, nth, extent, "under=" + under);
    }

    /** The same for files that words of a rule select, such as {@code match=} and {@code file=}. */
    public void arm(Failing failing, long nth, Extent extent, String files) throws IOException {
        write(failing.call() + " nth=" + nth + " errno=" + failing.errno()
                + (extent == Extent.ALL_FROM ? " from " : " ") + files);
    }

    /** Lets all calls go on. */
    public void disarm() throws IOException {
        Files.deleteIfExists(directory.resolve("rule"));
    }

    private void write(String rule) throws IOException {
        disarm();
        Files.deleteIfExists(directory.resolve("log"));
        Path next = Files.writeString(directory.resolve("rule.next"), rule + "\n");
        Files.move(next, directory.resolve("rule"), StandardCopyOption.ATOMIC_MOVE);
    }

    /** Returns the lines of the calls that were counted since the faults were armed: name, number, file, and whether it failed. */
    public List<String> log() throws IOException {
        Path log = directory.resolve("log");
        return Files.exists(log) ? Files.readAllLines(log) : List.of();
    }

    /** Returns how many calls of each name were counted. */
    public Map<String, Long> counts() throws IOException {
        Map<String, Long> counts = new LinkedHashMap<>();
        for (String line : log()) {
            counts.merge(line.substring(0, line.indexOf(' ')), 1L, Long::sum);
        }
        return counts;
    }

    /**
     * Returns the numbers of calls of each name, in order: of those for files of a kind, which are those whose paths differ in numbers alone, at
     * most so many, the first and the last among them.
     */
    public Map<String, List<Long>> spread(int each) throws IOException {
        Map<String, List<Long>> byKind = new LinkedHashMap<>();
        for (String line : log()) {
            String[] words = line.split(" ", 3);
            String kind = words[0] + " " + NUMBERS.matcher(words[2]).replaceAll("#");
            byKind.computeIfAbsent(kind, absent -> new ArrayList<>()).add(Long.valueOf(words[1]));
        }
        Map<String, List<Long>> spread = new TreeMap<>();
        byKind.forEach((kind, all) -> {
            List<Long> some = spread.computeIfAbsent(kind.substring(0, kind.indexOf(' ')), absent -> new ArrayList<>());
            int count = Math.min(each, all.size());
            for (int i = 0; i < count; i++) {
                some.add(all.get(count == 1 ? 0 : (int) ((long) i * (all.size() - 1) / (count - 1))));
            }
        });
        spread.values().forEach(Collections::sort);
        return spread;
    }

    /** Returns the lines of calls that failed. */
    public List<String> failed() throws IOException {
        return log().stream().filter(line -> line.endsWith(" failed")).toList();
    }

    private static synchronized Path compiled() throws IOException {
        if (program == null) {
            requireGcc();
            Path target = Files.createDirectories(Path.of("target", "syscall-faults"));
            Path made = target.resolve("made-by-" + ProcessHandle.current().pid());
            compile(made);
            Path there = target.resolve("syscall-faults").toAbsolutePath();
            Files.move(made, there, StandardCopyOption.ATOMIC_MOVE);
            program = there;
        }
        return program;
    }

    private static void compile(Path made) throws IOException {
        List<String> command =
                new ArrayList<>(List.of("gcc", "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"));
        command.addAll(List.of("-o", made.toString(), SOURCE.toString()));
        Path output = made.resolveSibling(made.getFileName() + ".out");
        Process gcc = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        try {
            if (!gcc.waitFor(LIMIT_S, TimeUnit.SECONDS) || gcc.exitValue() != 0) {
                throw new IllegalStateException(SOURCE + " does not compile:\n" + Files.readString(output));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while gcc runs", e);
        } finally {
            gcc.destroyForcibly();
        }
        Files.delete(output);
    }

    private static void requireGcc() {
        boolean there = Stream.of(System.getenv().getOrDefault("PATH", "").split(":"))
                .anyMatch(directory -> Files.isExecutable(Path.of(directory, "gcc")));
        String missing = "gcc is not installed: it compiles the program that fails system calls";
        if (!there && Boolean.getBoolean(REQUIRED_PROPERTY)) {
            throw new IllegalStateException(missing);
        }
        assumeTrue(there, missing);
    }
}
