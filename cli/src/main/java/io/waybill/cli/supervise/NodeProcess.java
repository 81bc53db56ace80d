package io.waybill.cli.supervise;

import io.waybill.host.Threads;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One incarnation of a node: its process, and its output.
 *
 * <p><b>Threads.</b> One thread awaits it, any may stop it; two separate threads read its output. <b>Ownership.</b> It
 * holds the process's standard input open until the process has ended: when this process is killed, the kernel closes
 * it, and the node stops.
 */
final class NodeProcess {

    private static final Pattern READY = Pattern.compile("ready \\S+ id=([0-9]{1,5})");
    private static final int LAST_LINES = 10;
    private static final long OUTPUT_LIMIT_MS = 2_000;
    private static final int SIGKILL = 137;

    private final Process process;
    private final MemoryKills memoryKills;
    private final long memoryKillsBefore;
    private final long startedNs = System.nanoTime();
    private final LastLines lastLines = new LastLines(LAST_LINES);
    private final CrashReport crash = new CrashReport();
    private Thread out;
    private Thread err;

    private NodeProcess(Process process, MemoryKills memoryKills) {
        this.process = process;
        this.memoryKills = memoryKills;
        this.memoryKillsBefore = memoryKills.count();
    }

    /** Starts a process, whose output waits for {@link #listen}. */
    static NodeProcess start(ProcessBuilder builder, MemoryKills memoryKills) throws IOException {
        return new NodeProcess(builder.start(), memoryKills);
    }

    /**
     * Starts reading the output; called once, before waiting for the process's death.
     *
     * @param ready receives process id and worker id when it serves, on another thread
     * @param log receives lines of standard error, on another thread
     */
    void listen(Threads threads, BiConsumer<Long, Integer> ready, Consumer<String> log) {
        out = threads.start(
                "waybill-up-out", () -> ChildOutput.read(process.getInputStream(), line -> said(line, ready)));
        err = threads.start(
                "waybill-up-err", () -> ChildOutput.read(process.getErrorStream(), line -> logged(line, log)));
    }

    private void said(String line, BiConsumer<Long, Integer> ready) {
        crash.line(line);
        Matcher form = READY.matcher(line);
        if (form.matches()) {
            ready.accept(process.pid(), Integer.parseInt(form.group(1)));
        }
    }

    private void logged(String line, Consumer<String> log) {
        crash.line(line);
        lastLines.add(line);
        log.accept(line);
    }

    long pid() {
        return process.pid();
    }

    /** Requests the process to stop. */
    void stop() {
        process.toHandle().destroy(); // its output is still read
    }

    void kill() {
        process.destroyForcibly();
    }

    /** Waits until the process has ended and its output was read completely. */
    NodeEnd awaitDeath() throws InterruptedException {
        int exitCode = process.waitFor();
        Duration ran = Duration.ofNanos(System.nanoTime() - startedNs);
        // a child process that survives may hold its streams open
        out.join(OUTPUT_LIMIT_MS);
        err.join(OUTPUT_LIMIT_MS);
        return new NodeEnd(exitCode, reason(exitCode), crash.file(), ran, lastLines.list());
    }

    private String reason(int exitCode) {
        String reason = ExitCodes.explain(exitCode);
        if (!crash.cause().isEmpty()) {
            return reason + "; " + crash.cause();
        }
        long kills = exitCode == SIGKILL ? memoryKills.count() - memoryKillsBefore : 0;
        return kills > 0 ? reason + ", by the kernel as it seems, because memory ran out" : reason;
    }

    /** The newest lines of many. Thread-safe. */
    private static final class LastLines {

        private final int max;
        private final Deque<String> lines = new ArrayDeque<>();

        LastLines(int max) {
            this.max = max;
        }

        synchronized void add(String line) {
            if (lines.size() == max) {
                lines.removeFirst();
            }
            lines.addLast(line);
        }

        /** Oldest first. */
        synchronized List<String> list() {
            return List.copyOf(lines);
        }
    }
}
