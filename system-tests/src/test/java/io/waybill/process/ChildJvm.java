package io.waybill.process;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * A program of the tests in a JVM of its own, with this JVM's flags, properties and class path. It takes commands as lines of its
 * input, and responds with lines that begin with {@code @}; its other output is its log.
 *
 * <p><b>Threads.</b> One gives commands; the log arrives on another. <b>Ownership.</b> Closing kills the process.
 */
public final class ChildJvm implements AutoCloseable {

    /** Takes the output that is no response, on the thread that reads it. */
    public interface Log {

        void line(String line);

        /** The process has ended, or closed its output. */
        default void end() {}
    }

    private static final int DUMP_S = 5;
    private static final String JAVA = ProcessHandle.current().info().command().orElseThrow();
    private static final String CLASS_PATH = ClassArchive.ordered(System.getProperty("java.class.path"));
    private static final ClassArchive CLASSES = new ClassArchive(Path.of("target"), JAVA, CLASS_PATH);

    private final String name;
    private final Process process;
    private final BlockingQueue<String> responses = new LinkedBlockingQueue<>();

    private ChildJvm(String name, Process process, Log log) {
        this.name = name;
        this.process = process;
        Thread reader = new Thread(() -> read(log), "output of " + name);
        reader.setDaemon(true);
        reader.start();
    }

    /**
     * Starts one without waiting for it.
     *
     * @param options of its JVM, behind those that every child has
     */
    public static ChildJvm start(String name, List<String> options, Class<?> main, List<String> arguments, Log log)
            throws IOException {
        return start(name, List.of(), options, main, arguments, log);
    }

    /**
     * Starts one behind another program.
     *
     * @param prefix the other program and its arguments; it becomes the JVM
     */
    public static ChildJvm start(
            String name, List<String> prefix, List<String> options, Class<?> main, List<String> arguments, Log log)
            throws IOException {
        List<String> command = new ArrayList<>(prefix);
        command.add(JAVA);
        for (String argument : ManagementFactory.getRuntimeMXBean().getInputArguments()) {
            if (argument.startsWith("--add-") || argument.startsWith("--enable-") || argument.startsWith("-D")) {
                command.add(argument);
            }
        }
        command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError"));
        command.addAll(CLASSES.options(JAVA));
        command.addAll(options);
        command.addAll(List.of("-cp", CLASS_PATH, main.getName()));
        command.addAll(arguments);
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        CLASSES.started(process);
        return new ChildJvm(name, process, log);
    }

    private void read(Log log) {
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.startsWith("@")) {
                    responses.add(line.substring(1));
                } else {
                    log.line(line);
                }
            }
        } catch (IOException e) {
            log.line("its output ended: " + e);
        }
        log.end();
        responses.add("ended");
    }

    /** Sends a command, without waiting for its response. */
    public void say(String line) throws IOException {
        process.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
        process.getOutputStream().flush();
    }

    /** Waits for the next response, which must begin with this. @param log for the failure */
    public String response(String expected, int seconds, Supplier<String> log) throws InterruptedException {
        String line = responses.poll(seconds, TimeUnit.SECONDS);
        if (line == null || !line.startsWith(expected)) {
            String state = line == null ? " in " + seconds + " s; " + dumpThreads() : "";
            throw new AssertionError(name + ": expected " + expected + ", got " + line + state + "\n" + log.get());
        }
        return line;
    }

    /** Makes a process that is silent write its threads into its log. Returns what else is known of it. */
    private String dumpThreads() throws InterruptedException {
        if (!process.isAlive()) {
            return "it ended with " + process.exitValue();
        }
        try {
            signal("QUIT");
        } catch (Exception | AssertionError e) {
            return "it lives, and its threads can't be seen: " + e;
        }
        TimeUnit.SECONDS.sleep(DUMP_S);
        return "it lives";
    }

    public boolean isAlive() {
        return process.isAlive();
    }

    /** Waits until it is gone. Returns whether it went within this time. */
    public boolean awaitEnd(long ms) throws InterruptedException {
        return process.waitFor(ms, TimeUnit.MILLISECONDS);
    }

    public int exitCode() {
        return process.exitValue();
    }

    /** kill -9, without waiting. */
    public void kill() {
        process.destroyForcibly();
    }

    /** SIGSTOP. */
    public void pause() throws Exception {
        signal("STOP");
    }

    /** SIGCONT. */
    public void resume() throws Exception {
        signal("CONT");
    }

    private void signal(String signal) throws Exception {
        Process kill = new ProcessBuilder("kill", "-" + signal, String.valueOf(process.pid())).start();
        if (kill.waitFor() != 0) {
            throw new AssertionError("kill -" + signal + " failed");
        }
    }

    @Override
    public void close() {
        kill();
    }
}
