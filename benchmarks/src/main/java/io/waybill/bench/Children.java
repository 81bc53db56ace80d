package io.waybill.bench;

import io.waybill.bench.measure.Figures;
import io.waybill.host.DirectoryTree;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;

/**
 * The child processes of one measurement, and their directory. Closing ends every process by its own handle and removes the directory;
 * so does the end of this process, unless it is killed.
 *
 * <p>Children get the JVM flags and the class path of this process.
 */
final class Children implements AutoCloseable {

    /** Flags of this process that its children are not to have: they are for a process that is over soon. */
    private static final List<String> FOR_SHORT_COMMANDS =
            List.of("-XX:TieredStopAtLevel", "-XX:ArchiveClassesAtExit", "-agentlib");

    private final List<String> options;
    private final Path directory;
    private final List<Process> processes = new CopyOnWriteArrayList<>();
    private final Thread ending = new Thread(this::endAtExit, "waybill-bench-end");
    private boolean isEnding; // guarded by processes

    Children() throws IOException {
        this(List.of());
    }

    /** @param options of each child's JVM, on top of this one's */
    Children(List<String> options) throws IOException {
        this.options = List.copyOf(options);
        directory = Files.createTempDirectory("waybill-bench");
        Runtime.getRuntime().addShutdownHook(ending);
    }

    Path directory() {
        return directory;
    }

    /** A running child. */
    record Child(Process process, BufferedReader output, String role) {

        long pid() {
            return process.pid();
        }

        /** The next line that it prints. */
        String line() throws IOException {
            String line = output.readLine();
            if (line == null) {
                throw new IOException(
                        "the process " + role + " ended without its figures; what it said is on standard error");
            }
            return line;
        }

        Figures figures() throws IOException {
            return Figures.parse(line());
        }

        Duration processorTime() throws IOException {
            return process.info()
                    .totalCpuDuration()
                    .orElseThrow(() -> new IOException("the host does not tell the processor time of a process"));
        }
    }

    /** Starts a child and waits until it says that it is ready. */
    Child start(String role, Object... arguments) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        for (String flag : ManagementFactory.getRuntimeMXBean().getInputArguments()) {
            if (FOR_SHORT_COMMANDS.stream().noneMatch(flag::startsWith)) {
                command.add(flag);
            }
        }
        command.addAll(options);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), BenchProcess.class.getName(), role));
        for (Object argument : arguments) {
            command.add(argument.toString());
        }
        Process process = start(command);
        Child child = new Child(
                process,
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8)),
                role);
        String first = child.line();
        if (!first.equals(BenchProcess.READY)) {
            throw new IOException("the process " + role + " did not become ready: " + first);
        }
        return child;
    }

    private Process start(List<String> command) throws IOException {
        synchronized (processes) { // a process that is begun is known before the end of this one looks which there are
            if (isEnding) {
                throw new IOException("no process is started any more: this one ends");
            }
            Process process = new ProcessBuilder(command)
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            processes.add(process);
            return process;
        }
    }

    /** Ends a child as its standard input ends, or by force. */
    void stop(Child child) throws IOException {
        child.process().getOutputStream().close();
        try {
            if (!child.process().waitFor(10, TimeUnit.SECONDS)) {
                child.process().destroyForcibly().waitFor(10, TimeUnit.SECONDS);
            }
        } catch (InterruptedException e) {
            child.process().destroyForcibly();
            Thread.currentThread().interrupt();
        }
        processes.remove(child.process());
    }

    @Override
    public void close() throws IOException {
        try {
            Runtime.getRuntime().removeShutdownHook(ending);
        } catch (IllegalStateException e) { // it runs
            return;
        }
        end();
    }

    private void endAtExit() {
        synchronized (processes) {
            isEnding = true;
        }
        try {
            end();
        } catch (IOException e) {
            // a worker of this process still writes: the rest stays in the temporary directory
        }
    }

    private void end() throws IOException {
        for (Process process : processes) {
            process.destroyForcibly();
        }
        for (Process process : processes) {
            process.onExit().join();
        }
        DirectoryTree.remove(directory);
    }
}
