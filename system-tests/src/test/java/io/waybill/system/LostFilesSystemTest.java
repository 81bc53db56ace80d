package io.waybill.system;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Workers under load whose files are lost: between two of their processes, and under one that lives. */
@Tag("ci")
@Timeout(600)
class LostFilesSystemTest {

    private static final long LONG_MS = 600_000;

    @TempDir
    private Path directory;

    private Processes processes;
    private WorkerProcess server;
    private WorkerProcess caller;

    @BeforeEach
    void begin() throws Exception {
        processes = new Processes(directory.resolve("home"), directory);
        server = processes.start("server").awaitReady();
        caller = processes.start("caller").awaitReady();
        go();
        awaitTraffic();
    }

    @AfterEach
    void end() {
        processes.close();
    }

    private void go() throws Exception {
        caller.go("server", 64, LONG_MS, 100, 50);
    }

    private void awaitTraffic() throws Exception {
        long some = caller.stat("responses") + 1000;
        Waits.until(() -> "responses\n" + caller.log(), () -> caller.stat("responses") >= some);
    }

    private List<Path> files(WorkerProcess of, String queue) throws IOException {
        try (Stream<Path> files =
                Files.list(processes.worker(of.id(), of.name()).resolve(queue))) {
            return files.filter(path -> path.toString().endsWith(".cq4"))
                    .sorted()
                    .toList();
        }
    }

    /** The ids of all calls that were acknowledged so far. */
    private Set<Long> acknowledged() throws IOException {
        return new HashSet<>(processes.outcomes("caller").sent);
    }

    @ParameterizedTest
    @CsvSource({"requests,true", "requests,false", "responses,true"})
    void goesOnAfterFilesWereLostBetweenTwoProcesses(String queue, boolean killed) throws Exception {
        boolean asks = queue.equals("requests");
        WorkerProcess loser = asks ? caller : server;
        for (int round = 0; round < 2; round++) {
            if (killed) {
                loser.kill();
            } else {
                caller.stop();
                loser.leave();
            }
            for (Path file : files(loser, queue)) {
                Files.delete(file);
            }
            if (!asks) {
                assertThat(caller.stop()).isZero();
            }
            Set<Long> before = acknowledged();
            loser = processes.start(loser.name()).awaitReady();
            assertThat(loser.log()).contains("are lost");
            server = asks ? server : loser;
            caller = asks ? loser : caller;
            go();
            awaitTraffic();
            assertThat(acknowledged().size()).isGreaterThan(before.size());
        }
        assertThat(caller.stop()).as("calls without an outcome").isZero();
        if (asks) {
            assertThat(caller.stat("lost"))
                    .as("calls of this process that were not responded to")
                    .isZero();
        }
        caller.leave();
        server.leave();
        processes.outcomes("caller").hasNothingTwice();
        processes.outcomes("server").hasNothingTwice();
    }

    @ParameterizedTest
    @CsvSource({"requests,unlink", "requests,cut", "requests,replace", "responses,unlink", "responses,cut"})
    void stopsWhenFilesAreLostUnderIt(String queue, String how) throws Exception {
        boolean asks = queue.equals("requests");
        WorkerProcess loser = asks ? caller : server;
        List<Path> there = files(loser, queue);
        Path file = there.get(there.size() - 1);
        harm(file, how);
        long sinceNs = System.nanoTime();
        Waits.until(() -> "it is told\n" + loser.log(), () -> loser.log().contains("stops, because "));
        long tookMs = (System.nanoTime() - sinceNs) / 1_000_000;
        assertThat(loser.log()).contains(file.toString());
        if (!asks && how.equals("cut")) {
            loser.kill(); // what it told is noted, whatever becomes of it
        }
        assertThat(caller.stop())
                .as("calls without an outcome, told after " + tookMs + " ms")
                .isZero();
        Outcomes calls = processes.outcomes("caller").hasNothingTwice().isBalanced();
        if (asks) {
            assertThat(calls.refused).containsKey("JOURNAL_FAILED");
        } else {
            assertThat(calls.refused.keySet()).isSubsetOf("WORKER_LOST", "PEER_CORRUPT"); // as it was called
        }
        Set<Long> before = acknowledged();
        loser.kill();
        WorkerProcess returned = processes.start(loser.name()).awaitReady();
        server = asks ? server : returned;
        caller = asks ? returned : caller;
        go();
        awaitTraffic();
        caller.stop();
        assertThat(acknowledged().size()).isGreaterThan(before.size());
        processes.outcomes("caller").hasNothingTwice();
        processes.outcomes("server").hasNothingTwice();
    }

    private static void harm(Path file, String how) throws IOException {
        switch (how) {
            case "unlink" -> Files.delete(file);
            case "replace" -> {
                Path copy = Files.copy(file, file.resolveSibling("copy"));
                Files.delete(file);
                Files.move(copy, file);
            }
            default -> {
                try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
                    channel.truncate(70_000);
                }
            }
        }
    }
}
