package io.waybill.system;

import io.waybill.process.ChildJvm;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A {@link WorkerMain} in a JVM of its own, as the test sees it. Closing kills it. */
final class WorkerProcess implements AutoCloseable {

    private static final int MAX_LOG_LINES = 20_000;
    private static final int PATIENCE_S = 60;
    private static final long END_MS = 20_000;

    private final String name;
    private final List<String> logLines = new ArrayList<>();
    private final ChildJvm jvm;
    private int id;
    private long epoch;

    private WorkerProcess(String name, List<String> options, Class<?> main, List<String> arguments) throws IOException {
        this.name = name;
        this.jvm = ChildJvm.start(name, options, main, arguments, this::keep);
    }

    /** Starts one without waiting for it. @param settings what {@link WorkerMain} takes behind its log */
    static WorkerProcess start(Path home, String name, Path log, List<String> settings) throws IOException {
        return start(WorkerMain.class, home, name, log, settings);
    }

    /** The same with another program that speaks like it. */
    static WorkerProcess start(Class<?> main, Path home, String name, Path log, List<String> settings)
            throws IOException {
        List<String> options = List.of("-Xmx96m", "-XX:+PerfDisableSharedMem", "-XX:ErrorFile=" + log + ".crash");
        List<String> arguments = new ArrayList<>(List.of(home.toString(), name, log.toString()));
        arguments.addAll(settings);
        return new WorkerProcess(name, options, main, arguments);
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
        String[] words = response("ready").split(" ");
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
        return jvm.isAlive();
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

    /** Waits until it has had this many responses more. */
    void awaitResponses(long more) throws Exception {
        long enough = stat("responses") + more;
        Waits.until(() -> "responses\n" + log(), () -> stat("responses") >= enough);
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
        return response(expected);
    }

    void say(String line) throws IOException {
        jvm.say(line);
    }

    String response(String expected) throws InterruptedException {
        return jvm.response(expected, PATIENCE_S, this::log);
    }

    /** Leaves the home and ends. */
    void leave() throws Exception {
        ask("leave", "left");
        jvm.awaitEnd(END_MS);
    }

    /** kill -9, and waits until it is gone. */
    void kill() throws InterruptedException {
        jvm.kill();
        jvm.awaitEnd(END_MS);
    }

    void pause() throws Exception {
        jvm.pause();
    }

    void resume() throws Exception {
        jvm.resume();
    }

    @Override
    public void close() {
        jvm.close();
    }
}
