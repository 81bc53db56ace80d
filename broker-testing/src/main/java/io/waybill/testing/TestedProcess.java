package io.waybill.testing;

import io.waybill.host.Host;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * A worker of a test in a JVM of its own, a {@link TestedProgram} with this JVM's class path, flags and properties, so
 * that a kill is one: the kernel releases its locks, its peers see that its process is gone, and no thread of it runs
 * on. Its output is a part of the test's.
 *
 * <p><b>Threads.</b> One at a time; a thread for each process reads its output. <b>Ownership.</b> Its creator closes
 * it. The process ends when its standard input does, so none outlives this JVM.
 */
final class TestedProcess implements TestedMember {

    private static final int START_LIMIT_S = 90;
    private static final int STOP_LIMIT_S = 30;
    private static final int LAST_LINES = 30;

    private final String name;
    private final Host host;
    private final ProcessBuilder command;
    private Process process;

    private TestedProcess(String name, Host host, ProcessBuilder command) {
        this.name = name;
        this.host = host;
        this.command = command;
    }

    /**
     * Starts a worker, and returns when it is ready.
     *
     * @param directory of the broker
     * @throws AssertionError if it does not become ready
     */
    static TestedProcess start(Path directory, String name, Host host, WorkerSetup setup) throws IOException {
        if (setup.isNode()) {
            TestedNode.prepare(directory, name, setup);
        }
        TestedProcess started = new TestedProcess(name, host, command(directory, name, setup));
        started.start();
        return started;
    }

    static ProcessBuilder command(Path directory, String name, WorkerSetup setup) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        for (String option : ManagementFactory.getRuntimeMXBean().getInputArguments()) {
            if (option.startsWith("--") || option.startsWith("-D")) {
                command.add(option);
            }
        }
        command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:+PerfDisableSharedMem"));
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), TestedProgram.class.getName()));
        command.addAll(List.of(directory.toAbsolutePath().toString(), name));
        command.addAll(setup.arguments());
        return new ProcessBuilder(command).redirectErrorStream(true);
    }

    private void start() throws IOException {
        process = command.start();
        Process reading = process;
        Deque<String> lines = new ArrayDeque<>(); // guarded by itself
        CompletableFuture<Boolean> ready = new CompletableFuture<>();
        host.threads().start("output-of-" + name, () -> read(reading, lines, ready));
        if (!ready.completeOnTimeout(false, START_LIMIT_S, TimeUnit.SECONDS).join()) {
            kill();
            synchronized (lines) {
                throw new AssertionError("worker " + name + " does not start in a process of its own: expected it to be"
                        + " ready within " + START_LIMIT_S + " s, found exit code " + process.exitValue()
                        + " and this output:\n  " + String.join("\n  ", lines));
            }
        }
    }

    /** Shows the output of a process up to its end, and completes the future with whether it became ready. */
    private void read(Process process, Deque<String> lines, CompletableFuture<Boolean> ready) {
        try (BufferedReader output =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = output.readLine(); line != null; line = output.readLine()) {
                if (line.equals(TestedProgram.READY)) {
                    ready.complete(true);
                    continue;
                }
                System.out.println(name + ": " + line);
                synchronized (lines) {
                    lines.add(line);
                    if (lines.size() > LAST_LINES) {
                        lines.remove();
                    }
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException("the output of worker " + name + " can't be read", e);
        } finally {
            ready.complete(false);
        }
    }

    @Override
    public TestedWorker here() {
        throw new IllegalArgumentException("worker " + name + " can't be used from the test: expected a worker in this"
                + " JVM, found one in a process of its own; call it from another one, and give its handlers to its"
                + " WorkerSetup");
    }

    @Override
    public void restart() throws IOException {
        if (!stop()) {
            throw new AssertionError("worker " + name + " did not stop in order within " + STOP_LIMIT_S + " s");
        }
        start();
    }

    /** Requests an orderly end; kills a process that takes too long for it. Returns whether it ended by itself. */
    private boolean stop() {
        try {
            process.getOutputStream().write(TestedProgram.STOP);
            process.getOutputStream().flush();
        } catch (IOException e) { // it has ended, or is about to
            process.destroyForcibly();
        }
        boolean stopped = process.onExit()
                .thenApply(ended -> true)
                .completeOnTimeout(false, STOP_LIMIT_S, TimeUnit.SECONDS)
                .join();
        kill();
        return stopped;
    }

    @Override
    public void kill() {
        process.destroyForcibly().onExit().join();
    }

    @Override
    public void close() {
        stop();
    }
}
