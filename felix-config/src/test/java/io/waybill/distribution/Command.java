package io.waybill.distribution;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A process of the distribution in a test: with nothing of the test's own environment, its output in files. Its maker closes it. */
final class Command implements AutoCloseable {

    private static final long LIMIT_S = 60;

    /** What a process left behind. */
    record Result(int exitCode, String out, String err) {}

    final Process process;
    private final Path outFile;
    private final Path errFile;

    private Command(Process process, Path outFile, Path errFile) {
        this.process = process;
        this.outFile = outFile;
        this.errFile = errFile;
    }

    /** Starts a program in a directory, where its output also goes. */
    static Command start(Path directory, Map<String, String> environment, List<String> words) throws IOException {
        Path outFile = Files.createTempFile(directory, "command", ".out");
        Path errFile = Files.createTempFile(directory, "command", ".err");
        ProcessBuilder builder = new ProcessBuilder(new ArrayList<>(words))
                .directory(directory.toFile())
                .redirectOutput(outFile.toFile())
                .redirectError(errFile.toFile());
        builder.environment().clear();
        builder.environment().putAll(environment);
        return new Command(builder.start(), outFile, errFile);
    }

    static Result run(Path directory, Map<String, String> environment, String... words)
            throws IOException, InterruptedException {
        try (Command command = start(directory, environment, List.of(words))) {
            return command.await();
        }
    }

    Result await() throws IOException, InterruptedException {
        return await(LIMIT_S);
    }

    Result await(long limitS) throws IOException, InterruptedException {
        if (!process.waitFor(limitS, TimeUnit.SECONDS)) {
            throw new IllegalStateException("still running after " + limitS + " s: " + err());
        }
        return new Result(process.exitValue(), out(), err());
    }

    String out() throws IOException {
        return Files.readString(outFile, StandardCharsets.UTF_8);
    }

    String err() throws IOException {
        return Files.readString(errFile, StandardCharsets.UTF_8);
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
