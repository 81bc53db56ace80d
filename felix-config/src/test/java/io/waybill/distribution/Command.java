package io.waybill.distribution;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** A process of the distribution in a test: with nothing of the test's own environment, its output in files. Its maker closes it. */
final class Command implements AutoCloseable {

    /** Of the file that {@code waybill prepare} leaves for this JVM. */
    static final String ARCHIVE_SUFFIX = Runtime.version().feature() < 25 ? ".jsa" : ".aot";

    private static final long LIMIT_S = 240;
    private static final long UNTIL_NS = 120_000_000_000L;

    /** What a process left behind. */
    record Result(int exitCode, String out, String err) {

        /** What it printed, if it succeeded. */
        String output() {
            assertThat(exitCode).as(err).isZero();
            return out;
        }
    }

    final Process process;
    private final Path outFile;
    private final Path errFile;

    private Command(Process process, Path outFile, Path errFile) {
        this.process = process;
        this.outFile = outFile;
        this.errFile = errFile;
    }

    /**
     * Environment for the command of the distribution: this JVM, with options for processes that live for seconds. The shipped options
     * alone are those of {@link LauncherIT}.
     *
     * @param user the user's directory
     */
    static Map<String, String> environment(Path user) throws IOException, InterruptedException {
        prepare(Path.of(System.getProperty("waybill.test.distribution")));
        return options(user);
    }

    private static Map<String, String> options(Path user) {
        return Map.of(
                "PATH",
                "/usr/bin:/bin",
                "HOME",
                user.toString(),
                "TMPDIR",
                user.toString(),
                "WAYBILL_JAVA",
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "WAYBILL_JAVA_OPTS",
                "-XX:TieredStopAtLevel=1 -Duser.home=" + user);
    }

    /** Prepares the distribution for this JVM unless another test did: each process then takes two thirds of the time to start. */
    private static void prepare(Path distribution) throws IOException, InterruptedException {
        Path archive = distribution.resolve("lib/cds/java-" + System.getProperty("java.version") + ARCHIVE_SUFFIX);
        Path directory = Files.createDirectories(distribution.resolveSibling("prepare"));
        try (FileChannel channel = FileChannel.open(
                        directory.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                FileLock held = channel.lock()) { // of test JVMs that run at a time
            if (held.isValid() && Files.notExists(archive)) {
                // it may fail: then processes only start slower
                run(
                        directory,
                        options(directory),
                        distribution.resolve("bin/waybill").toString(),
                        "prepare");
            }
        }
    }

    /** Starts a program in a directory, where its output also goes. */
    static Command start(Path directory, Map<String, String> environment, List<String> words) throws IOException {
        Path outFile = Files.createTempFile(directory, "command", ".out");
        Path errFile = Files.createTempFile(directory, "command", ".err");
        ProcessBuilder builder = new ProcessBuilder(new ArrayList<>(words))
                .directory(directory.toFile())
                .redirectOutput(outFile.toFile())
                .redirectError(errFile.toFile());
        builder.environment().clear();
        builder.environment().putAll(environment);
        return new Command(builder.start(), outFile, errFile);
    }

    static Result run(Path directory, Map<String, String> environment, String... words)
            throws IOException, InterruptedException {
        try (Command command = start(directory, environment, List.of(words))) {
            return command.await();
        }
    }

    Result await() throws IOException, InterruptedException {
        return await(LIMIT_S);
    }

    Result await(long limitS) throws IOException, InterruptedException {
        if (!process.waitFor(limitS, TimeUnit.SECONDS)) {
            throw new IllegalStateException("still running after " + limitS + " s: " + err());
        }
        return new Result(process.exitValue(), out(), err());
    }

    String out() throws IOException {
        return Files.readString(outFile, StandardCharsets.UTF_8);
    }

    String err() throws IOException {
        return Files.readString(errFile, StandardCharsets.UTF_8);
    }

    /** Waits until a condition holds. */
    static void until(String what, Callable<Boolean> isSo) throws Exception {
        long untilNs = System.nanoTime() + UNTIL_NS;
        while (!isSo.call()) {
            assertThat(System.nanoTime()).as("in time: %s", what).isLessThan(untilNs);
            LockSupport.parkNanos(5_000_000);
        }
    }

    @Override
    public void close() {
        process.destroyForcibly().onExit().join(); // so that its directory is no longer in use
    }
}
