package io.waybill.system;

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

/** A {@link WorkerMain} in a JVM of its own, as the test sees it. Closing kills it. */
final class WorkerProcess implements AutoCloseable {

    private static final int MAX_LOG_LINES = 20_000;

    private final String name;
    private final Process process;
    private final BlockingQueue<String> answers = new LinkedBlockingQueue<>();
    private final List<String> logLines = new ArrayList<>();
    private int id;
    private long epoch;

    private WorkerProcess(String name, Process process) {
        this.name = name;
        this.process = process;
        Thread reader = new Thread(this::read, "output of " + name);
        reader.setDaemon(true);
        reader.start();
    }

    /** Starts one without waiting for it. @param settings what {@link WorkerMain} takes behind its log */
    static WorkerProcess start(Path home, String name, Path log, List<String> settings) throws IOException {
        return start(WorkerMain.class, home, name, log, settings);
    }

    /** The same with another program that speaks like it. */
    static WorkerProcess start(Class<?> main, Path home, String name, Path log, List<String> settings)
            throws IOException {
        List<String> command = new ArrayList<>();
        command.add(ProcessHandle.current().info().command().orElseThrow());
        for (String argument : ManagementFactory.getRuntimeMXBean().getInputArguments()) {
            if (argument.startsWith("--add-") || argument.startsWith("--enable-") || argument.startsWith("-D")) {
                command.add(argument);
            }
        }
        command.addAll(List.of("-Xmx96m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:+PerfDisableSharedMem"));
        command.addAll(List.of("-XX:+ExitOnOutOfMemoryError", "-XX:ErrorFile=" + log + ".crash"));
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
        command.addAll(List.of(home.toString(), name, log.toString()));
        command.addAll(settings);
        return new WorkerProcess(
                name, new ProcessBuilder(command).redirectErrorStream(true).start());
    }

    private void read() {
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.startsWith("@")) {
                    answers.add(line.substring(1));
                } else {
                    keep(line);
                }
            }
        } catch (IOException e) {
            keep("its output ended: " + e);
        }
        answers.add("ended");
    }

    private void keep(String line) {
        synchronized (logLines) {
            if (logLines.size() < MAX_LOG_LINES) {
                logLines.add(line);
            }
        }
    }

    /** Waits until it serves. */
    WorkerProcess awaitReady() throws InterruptedException {
        String[] words = answer("ready").split(" ");
        id = Integer.parseInt(words[1]);
        epoch = Long.parseLong(words[2]);
        return this;
    }

    String name() {
        return name;
    }

    int id() {
        return id;
    }

    long epoch() {
        return epoch;
    }

    /** All that it logged. */
    String log() {
        synchronized (logLines) {
            return String.join("\n", logLines);
        }
    }

    boolean isAlive() {
        return process.isAlive();
    }

    /** Sends calls from now on. */
    void go(String targets, int window, long timeoutMs, int payloadBytes, long pauseUs) throws Exception {
        ask("go " + targets + " " + window + " " + timeoutMs + " " + payloadBytes + " " + pauseUs, "going");
    }

    /** The same with requests of another type. */
    void go(String targets, int window, long timeoutMs, int payloadBytes, long pauseUs, String type) throws Exception {
        ask(
                "go " + targets + " " + window + " " + timeoutMs + " " + payloadBytes + " " + pauseUs + " " + type,
                "going");
    }

    /** Sends no more; gives how many calls have no outcome after 20 seconds. */
    int stop() throws Exception {
        return Integer.parseInt(ask("stop", "stopped").split(" ")[1]);
    }

    /** A number that it tells of itself. */
    long stat(String key) throws Exception {
        for (String word : ask("stats", "stats").split(" ")) {
            if (word.startsWith(key + "=")) {
                return Long.parseLong(word.substring(key.length() + 1));
            }
        }
        throw new AssertionError("no such number: " + key);
    }

    String ask(String line, String expected) throws Exception {
        say(line);
        return answer(expected);
    }

    void say(String line) throws IOException {
        process.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
        process.getOutputStream().flush();
    }

    String answer(String expected) throws InterruptedException {
        String line = answers.poll(60, TimeUnit.SECONDS);
        if (line == null || !line.startsWith(expected)) {
            throw new AssertionError(name + ": expected " + expected + ", got " + line + "\n" + log());
        }
        return line;
    }

    /** Leaves the home and ends. */
    void leave() throws Exception {
        ask("leave", "left");
        process.waitFor(20, TimeUnit.SECONDS);
    }

    /** kill -9, and waits until it is gone. */
    void kill() throws InterruptedException {
        process.destroyForcibly();
        process.waitFor(20, TimeUnit.SECONDS);
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
