package io.waybill.crash;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A {@link CrashProcess} as the run sees it: one incarnation of a worker. Closing kills it. */
final class Child implements AutoCloseable {

    private static final int LOG_LINES = 400;
    private static final int PATIENCE_S = 90;

    private final String name;
    private final Process process;
    private final BlockingQueue<String> answers = new LinkedBlockingQueue<>();
    private final Deque<String> lastLines = new ArrayDeque<>();

    private final Path output;

    private Child(String name, Path output, Process process) {
        this.name = name;
        this.output = output;
        this.process = process;
        Thread reader = new Thread(this::read, "output of " + name);
        reader.setDaemon(true);
        reader.start();
    }

    /**
     * Starts one without waiting for it.
     *
     * @param options of its JVM
     * @param arguments of {@link CrashProcess}
     */
    static Child start(String name, Path logs, List<String> options, List<String> arguments) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(ProcessHandle.current().info().command().orElseThrow());
        for (String argument : ManagementFactory.getRuntimeMXBean().getInputArguments()) {
            if (argument.startsWith("--add-") || argument.startsWith("--enable-") || argument.startsWith("-D")) {
                command.add(argument);
            }
        }
        command.addAll(List.of("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"));
        command.addAll(List.of("-XX:+ExitOnOutOfMemoryError", "-XX:ErrorFile=" + logs.resolve(name + ".crash")));
        command.addAll(options);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), CrashProcess.class.getName()));
        command.addAll(arguments);
        Path output = logs.resolve(name + ".log");
        return new Child(
                name,
                output,
                new ProcessBuilder(command).redirectErrorStream(true).start());
    }

    private void read() {
        try (BufferedReader lines =
                        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
                BufferedWriter file =
                        Files.newBufferedWriter(output, StandardOpenOption.CREATE, StandardOpenOption.APPEND)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.startsWith("@")) {
                    answers.add(line.substring(1));
                } else {
                    keep(line);
                    file.write(line);
                    file.newLine();
                }
            }
        } catch (IOException e) {
            keep("its output ended: " + e);
        }
        answers.add("ended");
    }

    private void keep(String line) {
        synchronized (lastLines) {
            lastLines.add(line);
            if (lastLines.size() > LOG_LINES) {
                lastLines.remove();
            }
        }
    }

    String log() {
        synchronized (lastLines) {
            return String.join("\n", lastLines);
        }
    }

    Child awaitReady() throws InterruptedException {
        answer("ready");
        return this;
    }

    /** Calls answered, or requests begun, so far. */
    long count() throws IOException, InterruptedException {
        say("count");
        return Long.parseLong(answer("count ").substring("count ".length()));
    }

    /** Tells it to come to its end. */
    void leave() throws IOException {
        say("leave");
    }

    void awaitLeft() throws InterruptedException {
        answer("left");
        process.waitFor(PATIENCE_S, TimeUnit.SECONDS);
    }

    private void say(String line) throws IOException {
        process.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
        process.getOutputStream().flush();
    }

    private String answer(String expected) throws InterruptedException {
        String line = answers.poll(PATIENCE_S, TimeUnit.SECONDS);
        if (line == null || !line.startsWith(expected)) {
            throw new AssertionError(name + ": expected " + expected + ", got " + line + "\n" + log());
        }
        return line;
    }

    /** kill -9, without waiting. */
    void kill() {
        process.destroyForcibly();
    }

    /** Waits until it is gone. Returns whether it went within this time. */
    boolean awaitEnd(long ms) throws InterruptedException {
        return process.waitFor(ms, TimeUnit.MILLISECONDS);
    }

    int exitCode() {
        return process.exitValue();
    }

    void pause() throws Exception {
        signal("STOP");
    }

    void resume() throws Exception {
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
        process.destroyForcibly();
    }
}
