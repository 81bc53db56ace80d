package io.waybill.autograd;

import io.waybill.torch.LibTorch;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A {@link WorkerProgram} in a JVM of its own, as a test sees it. Closing kills it. */
final class WorkerProcess implements AutoCloseable {

    private static final int PATIENCE_S = 120;
    private static final int MAX_LOG_LINES = 500;

    private final Process process;
    private final BlockingQueue<String> responses = new LinkedBlockingQueue<>();
    private final List<String> log = Collections.synchronizedList(new ArrayList<>());

    private boolean isReady;

    private WorkerProcess(Process process) {
        this.process = process;
        Thread reader = new Thread(this::read, "output of " + process.pid());
        reader.setDaemon(true);
        reader.start();
    }

    /** Starts one without waiting for it. It lives for seconds. */
    static WorkerProcess start(Path home, int id) throws IOException {
        return start(home, id, List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m"));
    }

    /** Starts one whose speed is the subject. */
    static WorkerProcess startFast(Path home, int id) throws IOException {
        return start(home, id, List.of("-Xmx512m"));
    }

    private static WorkerProcess start(Path home, int id, List<String> options) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(ProcessHandle.current().info().command().orElseThrow());
        for (String argument : ManagementFactory.getRuntimeMXBean().getInputArguments()) {
            if (argument.startsWith("--add-") || argument.startsWith("--enable-") || argument.startsWith("-D")) {
                command.add(argument);
            }
        }
        command.add("-D" + LibTorch.NATIVES_PROPERTY + "=" + System.getProperty(LibTorch.NATIVES_PROPERTY));
        command.addAll(options);
        command.add("-XX:+PerfDisableSharedMem");
        command.addAll(List.of(
                "-cp",
                System.getProperty("java.class.path"),
                WorkerProgram.class.getName(),
                home.toString(),
                Integer.toString(id)));
        return new WorkerProcess(
                new ProcessBuilder(command).redirectErrorStream(true).start());
    }

    private void read() {
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.startsWith("@")) {
                    responses.add(line.substring(1));
                } else if (log.size() < MAX_LOG_LINES) {
                    log.add(line);
                }
            }
        } catch (IOException e) {
            log.add("its output ended: " + e);
        }
        responses.add("ended");
    }

    /** Waits until it serves. */
    WorkerProcess awaitReady() throws InterruptedException {
        response("ready");
        isReady = true;
        return this;
    }

    /** Gives a command, and returns its response without its first word. */
    String ask(String command, String expected) throws IOException, InterruptedException {
        process.getOutputStream().write((command + "\n").getBytes(StandardCharsets.UTF_8));
        process.getOutputStream().flush();
        return response(expected);
    }

    private String response(String expected) throws InterruptedException {
        String line = responses.poll(PATIENCE_S, TimeUnit.SECONDS);
        if (line == null || !line.startsWith(expected)) {
            String state = process.waitFor(1, TimeUnit.SECONDS) ? "it ended with " + process.exitValue() : "it lives";
            throw new AssertionError("expected " + expected + ", got " + line + "; " + state + "; its log:\n" + log());
        }
        return line.substring(expected.length()).strip();
    }

    String log() {
        synchronized (log) {
            return String.join("\n", log);
        }
    }

    /** Returns whether it was waited for, and has not ended. */
    boolean isServing() {
        return isReady && process.isAlive();
    }

    /** kill -9, and waits until it is gone. Returns when it was killed, by {@link System#nanoTime}. */
    long kill() throws InterruptedException {
        long atNs = System.nanoTime();
        process.destroyForcibly().waitFor();
        return atNs;
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
