package io.waybill.home;

import io.waybill.home.error.NameTakenException;
import io.waybill.host.Host;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A JVM of its own that joins a home when it is told to, and stays until it is killed or its input ends.
 *
 * <p>It speaks in lines: {@code ready <pid>}; then for each name it is given {@code joined <id> <epoch>} or
 * {@code taken}; it takes {@code leave} for a response to the end.
 */
public final class JoinedProcess implements AutoCloseable {
    private final Process process;
    private final BufferedReader lines;
    private long pid;

    private JoinedProcess(List<String> command) throws IOException {
        process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        lines = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    }

    public static JoinedProcess start(Path home) throws IOException {
        return new JoinedProcess(command(home));
    }

    /** One whose parent never looks after it: killed, it becomes a zombie. */
    static JoinedProcess startUnattended(Path home) throws IOException {
        List<String> command = new ArrayList<>(List.of("sh", "-c", "\"$@\" <&3 3<&- & exec sleep 100 3<&-", "sh"));
        command.addAll(command(home));
        // a background job of sh reads nothing unless its input is handed over by another descriptor
        command.set(2, "exec 3<&0; " + command.get(2));
        return new JoinedProcess(command);
    }

    static List<String> command(Path home) {
        List<String> command = new ArrayList<>();
        command.add(ProcessHandle.current().info().command().orElseThrow());
        for (String argument : ManagementFactory.getRuntimeMXBean().getInputArguments()) {
            if (argument.startsWith("--add-") || argument.startsWith("-Djava.io.tmpdir")) {
                command.add(argument);
            }
        }
        command.addAll(List.of("-Xmx64m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
        command.addAll(List.of("-cp", System.getProperty("java.class.path")));
        command.addAll(List.of(JoinedProcess.class.getName(), home.toString()));
        return command;
    }

    /** Waits until it is up. */
    public JoinedProcess awaitReady() throws IOException {
        String line = response();
        pid = Long.parseLong(line.substring("ready ".length()));
        return this;
    }

    /** Tells it to join, without waiting for what comes of it. */
    public void say(String line) throws IOException {
        process.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
        process.getOutputStream().flush();
    }

    public String response() throws IOException {
        String line = lines.readLine();
        while (line != null && !line.startsWith("ready ") && !line.startsWith("joined ") && !line.equals("taken")) {
            line = lines.readLine(); // log lines
        }
        if (line == null) {
            throw new IOException("the process ended without a response");
        }
        return line;
    }

    long pid() {
        return pid;
    }

    /** Kills the process, and returns once nothing of it runs any more: reaped, or a zombie when nobody reaps it. */
    public void killHard() throws InterruptedException, IOException {
        ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly);
        if (process.pid() == pid) {
            process.waitFor(10, TimeUnit.SECONDS);
            return;
        }
        Path stat = Path.of("/proc/" + pid + "/stat");
        long untilNs = System.nanoTime() + 10_000_000_000L;
        while (Files.exists(stat) && !Files.readString(stat).contains(") Z ") && System.nanoTime() < untilNs) {
            LockSupport.parkNanos(1_000_000);
        }
    }

    @Override
    public void close() {
        ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
    }

    public static void main(String[] arguments) throws IOException {
        Home home = Home.open(Path.of(arguments[0]), Host.real());
        System.out.println("ready " + ProcessHandle.current().pid());
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        List<WorkerDirectory> joined = new ArrayList<>();
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            if (line.equals("leave")) {
                for (WorkerDirectory worker : joined) {
                    worker.leave();
                }
                return;
            }
            try {
                WorkerDirectory worker = home.join(line);
                joined.add(worker);
                worker.publish(WorkerState.READY, List.of(), Map.of());
                System.out.println("joined " + worker.id() + " " + worker.epoch());
            } catch (NameTakenException e) {
                System.out.println("taken");
            }
        }
    }
}
