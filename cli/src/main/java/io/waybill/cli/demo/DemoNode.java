package io.waybill.cli.demo;

import io.waybill.cli.supervise.ChildEnd;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A node in a separate process, started by the distribution's launcher. It stops at the end of its standard input, so
 * that it does not survive its parent.
 *
 * <p><b>Ownership.</b> Its creator closes it.
 */
public final class DemoNode implements AutoCloseable {

    private static final long READY_LIMIT_NS = TimeUnit.SECONDS.toNanos(60);
    private static final long LOOK_NS = 5_000_000;

    private final String name;
    private final Process process;
    private final Path out;
    private final Path log;

    private DemoNode(String name, Process process, Path out, Path log) {
        this.name = name;
        this.process = process;
        this.out = out;
        this.log = log;
    }

    /**
     * Starts a node, without waiting until it is ready.
     *
     * @param logs directory for its output
     */
    public static DemoNode start(Path distribution, String name, Path home, Path logs, Map<String, String> environment)
            throws IOException {
        Path out = logs.resolve(name + ".out");
        Path log = logs.resolve(name + ".log");
        ProcessBuilder builder = new ProcessBuilder(List.of(
                        distribution.resolve("bin").resolve("waybill").toString(),
                        "node",
                        "--name",
                        name,
                        "--home",
                        home.toString(),
                        "--until-stdin-ends"))
                .redirectOutput(out.toFile())
                .redirectError(log.toFile());
        builder.environment().putAll(environment);
        return new DemoNode(name, builder.start(), out, log);
    }

    /** Waits until the node serves, and returns its output. */
    String awaitReady() throws IOException, DemoFailedException {
        long sinceNs = System.nanoTime();
        while (true) {
            String said = Files.readString(out, StandardCharsets.UTF_8);
            if (said.endsWith("\n")) {
                return said.strip();
            }
            if (!process.isAlive() || System.nanoTime() - sinceNs > READY_LIMIT_NS) {
                throw new DemoFailedException("node " + name + " did not become ready: "
                        + Files.readString(log, StandardCharsets.UTF_8).strip());
            }
            LockSupport.parkNanos(LOOK_NS);
        }
    }

    String name() {
        return name;
    }

    long pid() {
        return process.pid();
    }

    /** Stops the node as an operator would, waits, and returns its exit code. */
    int stop() throws DemoFailedException {
        process.destroy();
        if (!ChildEnd.await(process)) {
            throw new DemoFailedException("node " + name + " did not stop within " + ChildEnd.LIMIT_S + " s");
        }
        return process.exitValue();
    }

    @Override
    public void close() {
        process.destroy();
        ChildEnd.awaitOrKill(process);
    }
}
