package io.waybill.crash;

import io.waybill.process.ChildJvm;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A {@link CrashProcess} as the run sees it: one incarnation of a worker. Closing kills it. */
final class Child implements ChildJvm.Log, AutoCloseable {

    private static final int LOG_LINES = 400;
    /** A JVM that shares its processor with twenty others takes a minute and more to start. */
    private static final int PATIENCE_S = 180;

    private final Deque<String> lastLines = new ArrayDeque<>();
    private final BufferedWriter file;
    private final ChildJvm jvm;

    private Child(String name, Path logs, List<String> options, List<String> arguments) throws IOException {
        this.file = Files.newBufferedWriter(
                logs.resolve(name + ".log"), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        List<String> all = new ArrayList<>(List.of("-Xmx256m", "-Xshare:auto"));
        all.add("-XX:ErrorFile=" + logs.resolve(name + ".crash"));
        all.addAll(options);
        this.jvm = ChildJvm.start(name, all, CrashProcess.class, arguments, this);
    }

    /**
     * Starts one without waiting for it.
     *
     * @param options of its JVM
     * @param arguments of {@link CrashProcess}
     */
    static Child start(String name, Path logs, List<String> options, List<String> arguments) throws IOException {
        return new Child(name, logs, options, arguments);
    }

    @Override
    public void line(String line) {
        keep(line);
        try {
            file.write(line);
            file.newLine();
            file.flush(); // what it said is looked for when the run itself ends
        } catch (IOException e) {
            keep("its log ended: " + e);
        }
    }

    @Override
    public void end() {
        try {
            file.close();
        } catch (IOException e) {
            keep("its log ended: " + e);
        }
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
        response("ready");
        return this;
    }

    /** Calls responded to, or requests begun, so far. */
    long count() throws IOException, InterruptedException {
        say("count");
        return Long.parseLong(response("count ").substring("count ".length()));
    }

    /** Tells it to call no more, and to hear the outcomes of what it called. */
    void drain() throws IOException {
        say("drain");
    }

    void awaitDrained() throws InterruptedException {
        response("drained");
    }

    /** Tells it to come to its end. */
    void leave() throws IOException {
        say("leave");
    }

    void awaitLeft() throws InterruptedException {
        response("left");
        jvm.awaitEnd(TimeUnit.SECONDS.toMillis(PATIENCE_S));
    }

    private void say(String line) throws IOException {
        jvm.say(line);
    }

    private String response(String expected) throws InterruptedException {
        return jvm.response(expected, PATIENCE_S, this::log);
    }

    /** kill -9, without waiting. */
    void kill() {
        jvm.kill();
    }

    /** Waits until it is gone. Returns whether it went within this time. */
    boolean awaitEnd(long ms) throws InterruptedException {
        return jvm.awaitEnd(ms);
    }

    int exitCode() {
        return jvm.exitCode();
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
