package io.waybill.cli.conformance;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Where processes come from, and what they share.
 *
 * @param distribution whose launcher starts them
 * @param home that they join
 * @param logs a directory for what they say on standard error
 * @param environment of theirs, besides what this process has
 * @param started is told how to end each
 */
public record Troupe(
        Path distribution, Path home, Path logs, Map<String, String> environment, Consumer<Runnable> started) {

    public Troupe {
        environment = Map.copyOf(environment);
    }

    /** The same in another home and directory. */
    Troupe in(Path otherHome, Path otherLogs) {
        return new Troupe(distribution, otherHome, otherLogs, environment, started);
    }

    /** Starts one; it has not joined yet. */
    WorkerProcess start(String name) throws IOException {
        List<String> words = new ArrayList<>();
        words.add(distribution.resolve("bin").resolve("waybill").toString());
        words.addAll(List.of("conformance", "--play", "--home", home.toString()));
        ProcessBuilder builder = new ProcessBuilder(words);
        builder.environment().putAll(environment);
        WorkerProcess process = WorkerProcess.start(name, builder, logs.resolve(fileName(name)));
        started.accept(process::close);
        return process;
    }

    private static String fileName(String worker) {
        return worker.replace(':', '_') + ".log";
    }
}
