package io.waybill.crash;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import io.waybill.crash.agent.Point;
import io.waybill.crash.history.Checker;
import io.waybill.crash.history.Expectations;
import io.waybill.home.Home;
import io.waybill.host.DirectoryTree;
import io.waybill.host.Host;
import io.waybill.query.HomeJournals;
import io.waybill.query.verify.Finding;
import io.waybill.system.SmallDisk;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.LoggerFactory;

/**
 * Does something to workers under traffic, again and again, home by home; then lets the {@link Checker} and {@code journal verify} judge
 * what became of the calls. One thread.
 */
final class CrashRun {

    private static final Set<Integer> FAILURES = Set.of(6, 2004); // TIMED_OUT, WORKER_LOST
    private static final Set<Integer> FAILURES_WHEN_FULL = Set.of(6, 2001, 2003, 2004); // JOURNAL_FULL, CLOSED
    private static final int DISK_MEGABYTES = 512;
    private static final long LEAST_CALM_MS = 100;
    private static final long MOST_CALM_MS = 1500;

    private final RunOptions options;
    private final Random random;
    private final PrintStream out;
    private final Map<Point, Integer> reached = new EnumMap<>(Point.class);
    private long done;
    private long calls;
    private long outcomes;
    private long trafficNs;

    CrashRun(RunOptions options, PrintStream out) {
        this.options = options;
        this.random = new Random(options.seed());
        this.out = out;
    }

    /**
     * Runs it.
     *
     * @return what was found wrong in the first home that is not clean; empty when all are
     */
    List<String> run() throws Exception {
        out.println("crash run: " + options);
        for (int home = 0; done < options.faults(); home++) {
            List<String> problems = runHome(options.directory().resolve("run-" + home));
            if (!problems.isEmpty()) {
                return problems;
            }
        }
        out.printf(
                "done: %d faults, %d calls acknowledged, %d outcomes; %d calls/s while traffic ran%n",
                done, calls, outcomes, calls * 1_000_000_000L / Math.max(1, trafficNs));
        if (!options.point().isEmpty()) {
            out.println("killed at: " + reached);
        }
        return List.of();
    }

    private List<String> runHome(Path directory) throws Exception {
        Path logs = Files.createDirectories(directory.resolve("logs"));
        List<String> problems;
        if (options.fault() == RunOptions.Fault.FULL) {
            SmallDisk.Kind kind = SmallDisk.Kind.values()[random.nextInt(2)];
            try (SmallDisk disk = SmallDisk.mount(kind, DISK_MEGABYTES, directory)) {
                out.println("a disk of " + DISK_MEGABYTES + " MiB, " + kind);
                problems = runHome(disk.path().resolve("home"), logs, disk);
            }
        } else {
            problems = runHome(directory.resolve("home"), logs, null);
        }
        if (problems.isEmpty()) {
            DirectoryTree.remove(directory);
        } else {
            problems.add("with " + options + ", in " + directory);
        }
        return problems;
    }

    /** @param disk on which the home lies; null when nothing fills it */
    private List<String> runHome(Path home, Path logs, SmallDisk disk) throws Exception {
        long doneBefore = done;
        AgentOptions agent = new AgentOptions(logs, options.mutant());
        List<String> problems = new ArrayList<>();
        try (Fleet fleet = new Fleet(home, logs, options, agent)) {
            fleet.start();
            long startedNs = System.nanoTime();
            Strikes strikes = new Strikes(options, random, fleet, disk, reached);
            while (done < options.faults() && done - doneBefore < options.faultsPerHome()) {
                pass(LEAST_CALM_MS + random.nextLong(MOST_CALM_MS - LEAST_CALM_MS));
                strikes.strike();
                done++;
            }
            pass(MOST_CALM_MS);
            trafficNs += System.nanoTime() - startedNs;
            problems.addAll(fleet.end());
        } catch (AssertionError e) { // a worker did not begin or end as it must: the journals may say why
            problems.add(e.getMessage());
        }
        problems.addAll(judge(home, logs));
        return problems;
    }

    static void pass(long ms) {
        long untilNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ms);
        while (System.nanoTime() < untilNs) {
            LockSupport.parkNanos(untilNs - System.nanoTime());
        }
    }

    private List<String> judge(Path home, Path logs) throws IOException {
        List<String> problems = new ArrayList<>();
        boolean fills = options.fault() == RunOptions.Fault.FULL;
        Checker.Verdict verdict = Checker.check(
                home,
                logs,
                new Expectations(
                        ServedTypes.ORDERED,
                        options.bundled() ? Set.of() : ServedTypes.ONE_BY_ONE,
                        ServedTypes.REPEATABLE,
                        fills ? FAILURES_WHEN_FULL : FAILURES,
                        fills,
                        options.fault() == RunOptions.Fault.PAUSE));
        out.println(done + " faults: " + verdict);
        calls += verdict.calls();
        outcomes += verdict.outcomes();
        if (!verdict.isClean()) {
            problems.add(verdict.problems().toString());
        }
        try (HomeJournals journals = HomeJournals.open(Home.openExisting(home, Host.real()))) {
            journals.verify(finding -> {
                if (finding.severity() == Finding.Severity.DAMAGE) {
                    problems.add("journal verify: " + finding);
                }
            });
        }
        return problems;
    }

    /** @param arguments see {@link RunOptions} */
    public static void main(String[] arguments) throws Exception {
        ((Logger) LoggerFactory.getLogger(Logger.ROOT_LOGGER_NAME)).setLevel(Level.INFO);
        Path directory = Files.createTempDirectory("crash");
        List<String> problems = new CrashRun(RunOptions.parse(arguments, directory), System.out).run();
        problems.forEach(System.out::println);
        System.exit(problems.isEmpty() ? 0 : 1);
    }
}
