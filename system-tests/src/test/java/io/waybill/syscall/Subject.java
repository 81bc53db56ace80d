package io.waybill.syscall;

import io.waybill.journal.Durability;
import io.waybill.process.ChildJvm;
import io.waybill.process.SyscallFaults;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/** A {@link SubjectMain} in a JVM of its own, as the test sees it. Closing kills it. */
final class Subject implements AutoCloseable {

    private static final int PATIENCE_S = 150;
    private static final int MAX_LOG_LINES = 5000;
    private static final int GONE_STEPS = 100;
    private static final int COLLECT_AFTER = 25;
    private static final long STEP_NS = 20_000_000;

    private final List<String> logLines = new ArrayList<>(); // guarded by itself
    private final Path crashFile;
    private final SyscallFaults faults;
    private final ChildJvm jvm;

    Subject(Path directory) throws Exception {
        faults = new SyscallFaults(directory);
        crashFile = directory.resolve("hs_err");
        List<String> options = List.of(
                "-Xmx128m",
                "-XX:-UseDynamicNumberOfCompilerThreads",
                "-XX:+PerfDisableSharedMem",
                "-XX:ErrorFile=" + crashFile);
        jvm = ChildJvm.start("subject", faults.prefix(), options, SubjectMain.class, List.of(), this::keep);
        jvm.response("started", PATIENCE_S, this::log);
    }

    SyscallFaults faults() {
        return faults;
    }

    private void keep(String line) {
        synchronized (logLines) {
            if (logLines.size() < MAX_LOG_LINES) {
                logLines.add(line);
            }
        }
    }

    String log() {
        synchronized (logLines) {
            return String.join("\n", logLines);
        }
    }

    void forgetLog() {
        synchronized (logLines) {
            logLines.clear();
        }
    }

    /** Returns {@code joined}, or {@code failed} and why. */
    String join(Path home, Durability durability) throws Exception {
        return ask("join " + home + " " + durability, "");
    }

    Tally calls(String to, int count) throws Exception {
        return Tally.parse(ask("calls " + to + " " + count, "tally "));
    }

    /** Returns {@code swapped}, or {@code failed} and why. */
    String swap() throws Exception {
        return ask("swap", "");
    }

    /** Does something with its framework or a bundle. Returns {@code done}, or {@code failed} and why. */
    String bundles(String command) throws Exception {
        return ask(command, "");
    }

    /** Returns {@code ended}, or {@code failed} and why. */
    String leave() throws Exception {
        return ask("leave", "");
    }

    /** Returns why the worker stopped by itself; empty when it did not. */
    String failure() throws Exception {
        return ask("failure", "failure ").strip();
    }

    /** Returns the threads, open files and mapped files of workers that have left, of which there should be none after some time. */
    List<String> left(Path home) throws Exception {
        String left = "";
        for (int i = 0; i < GONE_STEPS; i++) {
            left = ask("left " + home, "left ").strip();
            if (left.isEmpty()) {
                return List.of();
            }
            LockSupport.parkNanos(STEP_NS);
            if (i % COLLECT_AFTER == COLLECT_AFTER - 1) {
                ask("collect", "collected");
            }
        }
        return Arrays.asList(left.split("\\|"));
    }

    private String ask(String line, String prefix) throws Exception {
        jvm.say(line);
        return jvm.response(prefix, PATIENCE_S, this::log).substring(prefix.length());
    }

    /** Returns how it crashed; empty when it did not. */
    String crash() throws IOException {
        return Files.exists(crashFile)
                ? Files.readAllLines(crashFile).subList(0, 12).toString()
                : "";
    }

    boolean isAlive() {
        return jvm.isAlive();
    }

    @Override
    public void close() {
        jvm.close();
    }
}
