package io.waybill.conformance.harness;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.waybill.cli.supervise.ChildEnd;
import io.waybill.conformance.cases.CaseFormatException;
import io.waybill.conformance.cases.CaseJson;
import io.waybill.conformance.cases.WorkerSpec;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The process of one worker, which takes one command per line of JSON and writes one response to each.
 *
 * <p><b>Threads.</b> One uses it; one of its own reads the responses. <b>Ownership.</b> Its maker closes it.
 */
final class WorkerProcess implements AutoCloseable {

    private static final Duration START_LIMIT = Duration.ofSeconds(120);
    private static final int LOG_SHOWN = 2_000;

    private final String name;
    private final ObjectNode join;
    private final WorkerSpec.Kind kind;
    private final WorkerLauncher launcher;
    private final Path log;
    private final ExecutorService reader;
    private Process process;
    private PrintWriter in;
    private BufferedReader out;
    private Future<String> response;

    /** @param join the first command: to join the home */
    WorkerProcess(String name, ObjectNode join, WorkerLauncher launcher) throws IOException {
        this.name = name;
        this.join = join;
        this.kind = WorkerSpec.of(name, join.get("spec")).kind();
        this.launcher = launcher;
        this.log = launcher.directory().resolve(name.replace(':', '_') + ".log");
        this.reader = Executors.newSingleThreadExecutor(reading -> {
            Thread thread = new Thread(reading, "waybill-conformance-" + name);
            thread.setDaemon(true);
            return thread;
        });
        start();
    }

    private void start() throws IOException {
        process = launcher.start(kind, log);
        in = new PrintWriter(process.outputWriter(StandardCharsets.UTF_8), true);
        out = process.inputReader(StandardCharsets.UTF_8);
        send(join);
    }

    /** Waits until the worker has joined. */
    void awaitReady() throws WorkerFailedException {
        Optional<String> problem = receive(START_LIMIT);
        if (problem.isPresent()) {
            throw new WorkerFailedException("worker " + name + " did not become ready: " + problem.get());
        }
    }

    /** Sends a command, and waits for its response. Returns the problem; empty when there is none. */
    Optional<String> ask(JsonNode command, Duration limit) throws WorkerFailedException {
        send(command);
        return receive(limit);
    }

    private void send(JsonNode command) {
        in.println(command);
        BufferedReader from = out;
        response = reader.submit(from::readLine);
    }

    private Optional<String> receive(Duration limit) throws WorkerFailedException {
        try {
            String line = response.get(limit.toNanos(), TimeUnit.NANOSECONDS);
            if (line == null) {
                throw new WorkerFailedException("worker " + name + " ended" + lastLines());
            }
            return Optional.ofNullable(
                    CaseJson.read(line, ObjectNode.class).path("failed").textValue());
        } catch (TimeoutException e) {
            throw new WorkerFailedException(
                    "worker " + name + " sent no response within " + limit.toSeconds() + " s" + lastLines());
        } catch (ExecutionException | CaseFormatException e) {
            throw new WorkerFailedException("worker " + name + " sent no valid response: " + e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new WorkerFailedException("interrupted");
        }
    }

    private String lastLines() {
        try {
            String text = Files.readString(log).strip();
            return ": " + text.substring(Math.max(0, text.length() - LOG_SHOWN));
        } catch (IOException e) {
            return "";
        }
    }

    boolean isAlive() {
        return process.isAlive();
    }

    /** Ends the process by SIGKILL, and waits for its end. */
    void kill() throws WorkerFailedException {
        process.destroyForcibly();
        if (!ChildEnd.await(process)) {
            throw new WorkerFailedException("worker " + name + " could not be killed");
        }
    }

    /** Starts the worker again after its process ended. */
    void restart() throws IOException, WorkerFailedException {
        end();
        start();
        awaitReady();
    }

    /** Lets the worker leave, which it does when its input ends; kills it when it takes too long. */
    private void end() {
        in.close();
        ChildEnd.awaitOrKill(process);
    }

    @Override
    public void close() {
        end();
        reader.shutdown();
    }
}
