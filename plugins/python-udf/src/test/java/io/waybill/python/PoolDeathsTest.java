package io.waybill.python;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.testing.TestBroker;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Functions that exit, crash, hang, are killed and want for memory, one after the other, while others work: each costs its own call, and leaves nothing. */
class PoolDeathsTest {

    private static final Path PYTHON = Path.of("/usr/bin/python3");
    private static final Path PACKAGE =
            Path.of("../../clients/python").toAbsolutePath().normalize();
    private static final Path SCRIPTS = Path.of("src/test/python").toAbsolutePath();
    private static final int SIZE = 4;
    /** Of files that the broker may open meanwhile, whatever the number of deaths. */
    private static final long MORE_FILES = 40;
    /** Seconds that processes of functions sleep, by which they are found. */
    private static final String SLEEP =
            Long.toString(1_000_000 + ProcessHandle.current().pid());

    @TempDir
    private Path directory;

    private TestBroker broker;

    @BeforeEach
    void start() throws IOException {
        assumeTrue(Files.isExecutable(PYTHON), "there is no " + PYTHON);
        broker = TestBroker.start(directory, Path.of("target/classes"));
        broker.configure(
                "io.waybill.python",
                Map.of(
                        "interpreter",
                        PYTHON.toString(),
                        "path",
                        PACKAGE + ":" + SCRIPTS,
                        "pool.size",
                        Integer.toString(SIZE),
                        "kill.after.ms",
                        "300"));
        PoolReadiness.await(broker);
    }

    @AfterEach
    void stop() throws IOException {
        if (broker != null) {
            broker.close();
            assertThat(pool()).as("processes of a pool that was closed").isEmpty();
            assertThat(memfds()).as("memory of processes that have ended").isZero();
        }
    }

    @Test
    @Timeout(600)
    void costTheirOwnCall() throws Exception {
        die(64);
    }

    @Test
    @Tag("slow")
    @Timeout(3_600)
    void costTheirOwnCallAThousandTimes() throws Exception {
        die(1_000);
    }

    private void die(int deaths) throws Exception {
        final long before = files(each -> true);
        Path log = directory.resolve("load.log");
        ProcessBuilder builder = new ProcessBuilder(
                        PYTHON.toString(),
                        SCRIPTS.resolve("deaths.py").toString(),
                        "load",
                        Integer.toString(deaths),
                        SLEEP)
                .redirectErrorStream(true)
                .redirectOutput(log.toFile());
        builder.environment().put("PYTHONPATH", PACKAGE.toString());
        builder.environment().put("WAYBILL_HOME", broker.home().toString());
        Process load = builder.start();
        try {
            load.waitFor();
        } finally {
            load.destroyForcibly();
        }
        List<String> said = Files.readAllLines(log);
        assertThat(said)
                .as("what calls cost")
                .startsWith("deaths [('as expected', " + deaths + ")]", "others [True] in flight 0");
        System.out.println(said);
        Waits.until("no more processes are left than the pool has", () -> pool().size() <= SIZE);
        Waits.until("what functions have started is ended", () -> asleep().isEmpty());
        Waits.until("the memory of processes that have ended is closed", () -> memfds() <= 2 * SIZE);
        Waits.until("no call is in flight", () -> inFlight() == 0);
        Waits.until("threads of processes that have ended are gone", () -> threads() <= 3 * SIZE);
        assertThat(files(each -> true)).as("open files, before %d", before).isLessThanOrEqualTo(before + MORE_FILES);
    }

    private static List<Long> pool() {
        try (Stream<ProcessHandle> all = ProcessHandle.current().children()) {
            return running(all, "waybill.pool");
        }
    }

    private static List<Long> asleep() {
        try (Stream<ProcessHandle> all = ProcessHandle.allProcesses()) {
            return running(all, SLEEP);
        }
    }

    private static List<Long> running(Stream<ProcessHandle> all, String command) {
        return all.filter(ProcessHandle::isAlive)
                .filter(each -> each.info().commandLine().orElse("").contains(command))
                .filter(each -> !each.info().commandLine().orElse("").contains("deaths.py"))
                .map(ProcessHandle::pid)
                .toList();
    }

    private static long memfds() throws IOException {
        return files(target -> target.startsWith("/memfd:waybill"));
    }

    /** Returns the number of open files of this process whose names match. */
    private static long files(Predicate<String> matches) throws IOException {
        try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
            return all.filter(each -> {
                        try {
                            return matches.test(Files.readSymbolicLink(each).toString());
                        } catch (IOException e) {
                            return false; // it is closed meanwhile
                        }
                    })
                    .count();
        }
    }

    private static long threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(each -> each.getName().startsWith("python-pool")
                        || each.getName().equals("python-link"))
                .count();
    }

    private long inFlight() {
        Request list = Request.invocation(
                TestBroker.SERVER, MessageType.CONTROL_CALL, new Invocation("handlers.list", List.of(), Map.of()));
        try (Response listed = broker.caller().call(list)) {
            Value.Items handlers = (Value.Items) listed.value("handlers");
            return handlers.values().stream()
                    .map(handler -> ((Value.Dict) handler).entries())
                    .filter(handler -> handler.get(Value.of("key")).toString().contains("PYTHON"))
                    .mapToLong(handler -> ((Value.Int) handler.get(Value.of("inFlight"))).value()
                            + ((Value.Int) handler.get(Value.of("parked"))).value())
                    .sum();
        }
    }
}
