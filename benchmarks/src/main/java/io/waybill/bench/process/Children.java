package io.waybill.bench.process;

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
import java.util.stream.Stream;

/**
 * The child processes of one measurement, and their directory. Closing ends every process by its own handle and removes
 * the directory; so does the end of this process, unless it is killed.
 *
 * <p>Children get the class path of this process, and either its JVM flags or the JVM flags of a user's program.
 */
public final class Children implements AutoCloseable {

    /** The main class of children, which knows all roles: it is above this package. */
    private static final String MAIN = "io.waybill.bench.BenchProcess";

    /** Flags of this process that its children are not to have: they are for a process that is over soon. */
    private static final List<String> FOR_SHORT_COMMANDS =
            List.of("-XX:TieredStopAtLevel", "-XX:ArchiveClassesAtExit", "-agentlib");

    /** Beginnings of the flags without which no program can join. */
    private static final List<String> REQUIRED = List.of("--", "-D");

    private static final String FURTHER_OPTIONS = "WAYBILL_JAVA_OPTS";

    private final List<String> options;
    private final Path directory;
    private final List<Process> processes = new CopyOnWriteArrayList<>();
    private final Thread ending = new Thread(this::endAtExit, "waybill-bench-end");
    private boolean isEnding; // guarded by processes

    public Children() throws IOException {
        this(List.of());
    }

    /** @param further options of each child's JVM, on top of this one's */
    public Children(List<String> further) throws IOException {
        this(flags(), further);
    }

    private Children(Stream<String> flags, List<String> further) throws IOException {
        options = Stream.concat(flags, further.stream()).toList();
        directory = Files.createTempDirectory("waybill-bench");
        Runtime.getRuntime().addShutdownHook(ending);
    }

    /**
     * Creates an object whose children have the JVM flags of a program of a user: those that Waybill requires, and
     * those of the environment variable {@value #FURTHER_OPTIONS}; neither an archive of classes nor an ahead-of-time
     * cache, unless that variable names one.
     */
    public static Children ofProgram() throws IOException {
        String variable = System.getenv(FURTHER_OPTIONS);
        return new Children(ofProgram(flags(), variable == null ? "" : variable), List.of());
    }

    /** Returns those of a JVM's flags that a program of a user has, too. */
    static Stream<String> ofProgram(Stream<String> flags, String furtherOptions) {
        List<String> further = List.of(furtherOptions.strip().split("\\s+"));
        return flags.filter(flag -> further.contains(flag) || REQUIRED.stream().anyMatch(flag::startsWith));
    }

    private static Stream<String> flags() {
        return ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .filter(flag -> FOR_SHORT_COMMANDS.stream().noneMatch(flag::startsWith));
    }

    public Path directory() {
        return directory;
    }

    /** A running child. */
    public record Child(Process process, BufferedReader output, String role) {

        public long pid() {
            return process.pid();
        }

        /** The next line that it prints. */
        public String line() throws IOException {
            String line = output.readLine();
            if (line == null) {
                throw new IOException(
                        "the process " + role + " ended without its figures; what it said is on standard error");
            }
            return line;
        }

        /** Waits until it says that it is ready. */
        public void awaitReady() throws IOException {
            String first = line();
            if (!first.equals(ChildProcess.READY)) {
                throw new IOException("the process " + role + " did not become ready: " + first);
            }
        }

        /** Has a child {@linkplain ChildProcess#awaitBegin that waits for it} begin. */
        public void begin() throws IOException {
            process.getOutputStream().write('\n');
            process.getOutputStream().flush();
        }

        public Figures figures() throws IOException {
            return Figures.parse(line());
        }

        public Duration processorTime() throws IOException {
            return process.info()
                    .totalCpuDuration()
                    .orElseThrow(() -> new IOException("the host does not tell the processor time of a process"));
        }
    }

    /** Starts a child and waits until it says that it is ready. */
    public Child start(String role, Object... arguments) throws IOException {
        Child child = launch(role, arguments);
        child.awaitReady();
        return child;
    }

    /** Starts a child. */
    public Child launch(String role, Object... arguments) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(options);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), MAIN, role));
        for (Object argument : arguments) {
            command.add(argument.toString());
        }
        Process process = start(command);
        return new Child(
                process,
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8)),
                role);
    }

    private Process start(List<String> command) throws IOException {
        synchronized (processes) { // a started process is registered before the exit of this one reads the list
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

    /** Stops a child by closing its standard input, or by force. */
    public void stop(Child child) throws IOException {
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
