package io.waybill.worker.context;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.context.CallContext;
import io.waybill.api.handler.Outbox;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.io.BufferedReader;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A process with the worker {@code relay}, which calls its caller back. Ends when its input does. */
public final class RelayProcess implements AutoCloseable {

    private final Process process;

    private RelayProcess(Process process) {
        this.process = process;
    }

    /**
     * Starts it, and waits until it has joined.
     *
     * @param launcher put in front of its command
     */
    public static RelayProcess start(Path home, List<String> launcher) throws IOException {
        List<String> command = new ArrayList<>(launcher);
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        for (String flag : ManagementFactory.getRuntimeMXBean().getInputArguments()) {
            if (flag.startsWith("--add-") || flag.startsWith("-Dslf4j") || flag.startsWith("-Djava.io.tmpdir")) {
                command.add(flag);
            }
        }
        command.addAll(List.of(
                "-Xmx128m",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path")));
        command.addAll(List.of(RelayProcess.class.getName(), home.toString()));
        Process process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        BufferedReader lines = process.inputReader();
        String line = lines.readLine();
        while (line != null && !line.startsWith("joined")) {
            line = lines.readLine();
        }
        assertThat(line).as("the other process has joined").isNotNull();
        return new RelayProcess(process);
    }

    @Override
    public void close() throws IOException {
        process.getOutputStream().close();
        try {
            if (!process.waitFor(20, TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }

    /** Runs it. Argument: the home. */
    public static void main(String[] args) throws IOException {
        try (Worker worker = Waybill.connect(Path.of(args[0]), "relay")
                .with("text.relay", RelayProcess::relay)
                .join()) {
            System.out.println("joined " + worker.info().name());
            while (System.in.read() >= 0) {
                Thread.onSpinWait(); // until the end
            }
        }
    }

    private static void relay(Message message, Outbox outbox) throws RejectedMessageException {
        String here = CallContext.current().text("k").orElse("none");
        CallContext more = CallContext.current().with("relayed", "yes");
        try (Response there = more.supply(
                () -> outbox.caller().call(Request.operation(String.valueOf(message.from()), "text.seen")))) {
            outbox.response().text("here", here).text("there", there.text("seen"));
        }
    }
}
