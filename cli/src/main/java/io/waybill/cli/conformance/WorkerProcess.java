package io.waybill.cli.conformance;

import io.waybill.cli.conformance.format.Datum;
import io.waybill.cli.conformance.format.DatumReader;
import io.waybill.cli.conformance.format.Fields;
import io.waybill.cli.conformance.format.FormatException;
import io.waybill.cli.process.ChildEnd;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * The process of one worker, told by lines of JSON what to do.
 *
 * <p><b>Threads.</b> One uses it; any may close it; one of its own reads what the process says. <b>Ownership.</b> Its maker closes it.
 */
final class WorkerProcess implements AutoCloseable {

    private static final int LOG_SHOWN = 2_000;
    private static final String ENDED = "";

    private final String name;
    private final Process process;
    private final Path log;
    private final PrintWriter in;
    private final LinkedBlockingQueue<String> said = new LinkedBlockingQueue<>();

    private WorkerProcess(String name, Process process, Path log) {
        this.name = name;
        this.process = process;
        this.log = log;
        this.in = new PrintWriter(new OutputStreamWriter(process.getOutputStream(), StandardCharsets.UTF_8), true);
    }

    static WorkerProcess start(String name, ProcessBuilder builder, Path log) throws IOException {
        builder.redirectError(ProcessBuilder.Redirect.appendTo(log.toFile()));
        WorkerProcess started = new WorkerProcess(name, builder.start(), log);
        Thread reader = new Thread(started::read, "waybill-conformance-" + name);
        reader.setDaemon(true);
        reader.start();
        return started;
    }

    private void read() {
        try (BufferedReader out =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = out.readLine(); line != null; line = out.readLine()) {
                said.add(line);
            }
        } catch (IOException e) {
            // as good as its end
        }
        said.add(ENDED);
    }

    /** Says something, without waiting for the response. */
    void tell(Map<String, Datum> line) {
        in.println(new Datum.Record(line).toJson());
    }

    /** The response to what was said before. */
    Fields hear(Duration limit) throws WorkerFailedException {
        try {
            String line = said.poll(limit.toNanos(), TimeUnit.NANOSECONDS);
            if (line == null) {
                throw new WorkerFailedException("worker " + name + " said nothing within " + limit.toSeconds() + " s");
            }
            if (line.equals(ENDED)) {
                said.add(ENDED);
                throw new WorkerFailedException("worker " + name + " ended" + lastWords());
            }
            return Fields.of("an answer", DatumReader.read(line));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new WorkerFailedException("interrupted");
        } catch (FormatException e) {
            throw new WorkerFailedException("worker " + name + " said what is no answer: " + e.getMessage());
        }
    }

    private String lastWords() {
        try {
            String text = Files.readString(log, StandardCharsets.UTF_8).strip();
            return ": " + text.substring(Math.max(0, text.length() - LOG_SHOWN));
        } catch (IOException e) {
            return "";
        }
    }

    boolean isAlive() {
        return process.isAlive();
    }

    /** Ends it without a word, and waits until it is gone. */
    void kill() throws WorkerFailedException {
        // the launcher becomes the JVM, so that this is the worker's own process
        process.destroyForcibly();
        if (!ChildEnd.await(process)) {
            throw new WorkerFailedException("worker " + name + " could not be killed");
        }
    }

    /** Lets it leave, which it does when its input ends; kills it when it takes too long. */
    @Override
    public void close() {
        in.close();
        ChildEnd.awaitOrKill(process);
    }
}
