package io.waybill.crash;

import ch.qos.logback.classic.Level;
import io.waybill.archive.ArchivePolicy;
import io.waybill.archive.ArchiveSettings;
import io.waybill.broker.StateSettings;
import io.waybill.crash.history.Event;
import io.waybill.crash.history.Event.Kind;
import io.waybill.crash.history.EventLog;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.dispatch.ParkingSettings;
import io.waybill.dispatch.Provider;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.host.Host;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.Roll;
import io.waybill.tensor.segment.TensorConfig;
import io.waybill.tool.ToolCommands;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A server, a caller, or one that is both, in a process of its own. It speaks in lines that begin with {@code @}; {@link Child} is the other end.
 */
final class CrashProcess {

    static final String SERVER = "server";
    static final String NODE = "node";
    static final String CALLER = "caller";
    /** Serves as a server does, and calls as a caller. */
    static final String PEER = "peer";

    private static final JournalSettings JOURNAL =
            new JournalSettings(Roll.MINUTELY, 4 << 20, 1 << 20, 2 << 20).withFileBytes(4 << 20);
    private static final Duration DRAIN = Duration.ofSeconds(20);

    private final Worker worker;
    private final Host host;
    private final EventLog log;
    private KeptRounds rounds;

    private CrashProcess(Worker worker, Host host, EventLog log) {
        this.worker = worker;
        this.host = host;
        this.log = log;
    }

    /** @param arguments role, home, name, directory of logs, which incarnation of the name; callers and peers: whom they
     *     call, and calls per second; nodes: directory of bundles */
    public static void main(String[] arguments) throws Exception {
        ((ch.qos.logback.classic.Logger) LoggerFactory.getLogger(Logger.ROOT_LOGGER_NAME)).setLevel(Level.INFO);
        Host host = Host.real();
        Path home = Path.of(arguments[1]);
        String name = arguments[2];
        try (EventLog log = EventLog.create(Path.of(arguments[3]), name, Integer.parseInt(arguments[4]))) {
            HandlerRegistry registry = new HandlerRegistry(ParkingSettings.DEFAULT, host.threads(), host.clock());
            registry.expectMore();
            Worker worker = Worker.join(Home.open(home, host), name, JoinOptions.defaults(), settings(), registry);
            CrashProcess process = new CrashProcess(worker, host, log);
            process.logged(Kind.JOINED, worker.info().id(), worker.directory().epoch());
            process.rounds = KeptRounds.start(worker, Path.of(arguments[3]));
            Server server = new Server(log, host.clock(), worker.directory().epoch());
            switch (arguments[0]) {
                case SERVER -> {
                    server.serve(registry);
                    ToolCommands commands = new ToolCommands(registry, host);
                    commands.add(new Provider("crash-tally", "1.0.0"), CommandRuns.command());
                    process.serve(registry, commands::close);
                }
                case NODE -> {
                    SwitchedBundles bundles = SwitchedBundles.start(
                            server, registry, host, worker.directory().path(), Path.of(arguments[5]));
                    process.serve(registry, () -> {});
                    bundles.close();
                }
                case CALLER, PEER -> {
                    if (arguments[0].equals(PEER)) {
                        server.serve(registry);
                    }
                    process.ready(registry);
                    process.call(
                            List.of(arguments[5].split(",")), Integer.parseInt(arguments[6]), Path.of(arguments[3]));
                }
                default -> throw new IllegalArgumentException("no such role: " + arguments[0]);
            }
        } catch (IOException | RuntimeException e) {
            say("failed " + e);
            throw e;
        }
        System.exit(0);
    }

    private static WorkerSettings settings() {
        return WorkerSettings.builder()
                .journal(JOURNAL)
                .tensors(new TensorConfig(4 << 20, 16 << 20, 4096, 64 << 10))
                .state(new StateSettings(Duration.ofMillis(50), 64 << 20))
                .archive(ArchiveSettings.DEFAULTS.withPolicy(ArchivePolicy.ALL))
                .build();
    }

    private void logged(Kind kind, long id, long number) {
        log.add(new Event(kind, 0, 0, id, host.clock().bootNs(), number));
    }

    private void ready(HandlerRegistry registry) throws IOException {
        registry.expectNoMore();
        worker.ready(Map.of());
        say("ready");
    }

    /** Until it is told to leave: what it had begun is responded to then. */
    private void serve(HandlerRegistry registry, Runnable leaving) throws IOException {
        ready(registry);
        awaitLine("leave", () -> worker.counters().requestsBegun());
        leaving.run();
        rounds.stop();
        worker.close();
        logged(Kind.ENDED, 0, 0);
        say("left");
    }

    private void call(List<String> servers, int rate, Path logs) throws Exception {
        PairedEvents events = PairedEvents.of(worker);
        Claims claims = new Claims(worker, host.clock(), log);
        claims.begin(EventLog.open(logs, worker.info().name()));
        Traffic traffic = new Traffic(worker, host.clock(), log, servers, rate);
        traffic.start();
        awaitLine("drain", traffic::responded);
        traffic.stop();
        int open = worker.drain(DRAIN);
        int unclaimed = claims.await(DRAIN);
        say("drained");
        awaitLine("leave", traffic::responded);
        rounds.stop();
        worker.close();
        events.requirePairs();
        logged(Kind.ENDED, 0, open + unclaimed);
        say("left");
    }

    /** What it has done so far. */
    private interface Progress {
        long count();
    }

    private static void awaitLine(String last, Progress progress) throws IOException {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); !last.equals(line); line = input.readLine()) {
            if (line == null) {
                System.exit(3); // who started it is gone
            }
            say("count " + progress.count());
        }
    }

    static void say(String line) {
        System.out.println("@" + line);
    }
}
