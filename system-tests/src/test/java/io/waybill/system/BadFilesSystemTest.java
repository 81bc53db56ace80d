package io.waybill.system;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.host.failure.MappedFaults;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.poll.Waiting;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Things that lie where a peer's files belong. Whoever comes across them goes on with everybody else. */
@Tag("ci")
@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class BadFilesSystemTest {

    @TempDir
    private Path directory;

    private Swarm swarm;

    @BeforeEach
    void openHome() throws IOException {
        swarm = new Swarm(directory.resolve("home"), directory.resolve("calls"));
    }

    @AfterEach
    void leave() throws IOException {
        swarm.close();
    }

    /** What lies there instead of a file. */
    enum Thing {
        FIFO,
        LINK,
        DIRECTORY,
        EMPTY;

        void putAt(Path path) throws Exception {
            switch (this) {
                case FIFO ->
                    assertThat(new ProcessBuilder("mkfifo", path.toString())
                                    .start()
                                    .waitFor())
                            .isZero();
                case LINK -> Files.createSymbolicLink(path, Path.of("/dev/zero"));
                case DIRECTORY -> Files.createDirectory(path);
                case EMPTY ->
                    Files.createFile(
                            path, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
            }
        }
    }

    private static Request request(String to, Tensor... tensors) {
        return Request.raw(to, MessageType.userRequest(0x42), ByteBuffer.allocate(64), List.of(tensors))
                .timeout(Duration.ofSeconds(5));
    }

    private static ErrorCode failureOf(Worker caller, Request request) {
        try {
            caller.call(request).close();
            return null;
        } catch (CallException e) {
            assertThat(e).hasMessageNotContaining("null");
            return e.code();
        }
    }

    private static Path only(Path directory, String suffix) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            List<Path> found =
                    files.filter(path -> path.toString().endsWith(suffix)).toList();
            assertThat(found).hasSize(1);
            return found.get(0);
        }
    }

    private static void replace(Path path, Thing thing) throws Exception {
        Files.move(path, path.resolveSibling("moved"));
        thing.putAt(path);
    }

    @ParameterizedTest
    @CsvSource({
        "worker.json,FIFO",
        "worker.json,LINK",
        "worker.json,DIRECTORY",
        "worker.json,EMPTY",
        "cursors,FIFO",
        "cursors,LINK",
        "cursors,DIRECTORY",
        "cursors,EMPTY",
        "requests,FIFO",
        "requests,LINK",
        "requests,EMPTY",
        "requests/*.cq4,FIFO",
        "requests/*.cq4,LINK",
        "requests/*.cq4,DIRECTORY",
        "requests/*.cq4,EMPTY",
        "responses/*.cq4,FIFO",
        "responses/*.cq4,LINK",
        "responses/*.cq4,DIRECTORY",
        "responses/metadata.cq4t,FIFO",
        "responses/metadata.cq4t,LINK",
        "responses/metadata.cq4t,DIRECTORY",
        "responses/metadata.cq4t,EMPTY"
    })
    void refusesAPeerWithSomethingElseInPlaceOfAFile(String file, Thing thing) throws Exception {
        try (RawWorker bad = new RawWorker(swarm.home(), "bad").publish()) {
            bad.write(bad.request(1));
            Path path = bad.path().resolve(file);
            if (file.contains("*")) {
                path = only(path.getParent(), ".cq4");
            }
            replace(path, thing);
            Worker victim = swarm.join("victim");
            Worker good = swarm.join("good");
            assertThat(failureOf(victim, request("bad")))
                    .isIn(ErrorCode.PEER_CORRUPT, ErrorCode.UNKNOWN_WORKER, ErrorCode.TIMED_OUT);
            assertThat(failureOf(victim, request("good"))).isNull();
            assertThat(failureOf(good, request("victim"))).isNull();
        }
    }

    @ParameterizedTest
    @EnumSource(Thing.class)
    void refusesWhatLiesInPlaceOfASegment(Thing thing) throws Exception {
        Worker victim = swarm.join("victim");
        Worker sender = swarm.join("sender");
        Storage storage = sender.buffers().allocate(1 << 20);
        replace(only(sender.directory().path().resolve("segments"), ".seg"), thing);
        Tensor tensor = Tensor.contiguous(DType.UINT8, new long[] {1 << 20}, storage);
        assertThat(failureOf(sender, request("victim", tensor))).isEqualTo(ErrorCode.PEER_CORRUPT);
        storage.release();
        assertThat(failureOf(sender, request("victim"))).isNull();
        assertThat(failureOf(victim, request("sender"))).isNull();
    }

    @Test
    void refusesASegmentThatWasCutShort() throws Exception {
        Worker victim = swarm.join("victim");
        Worker sender = swarm.join("sender");
        Storage storage = sender.buffers().allocate(1 << 20);
        Tensor tensor = Tensor.contiguous(DType.UINT8, new long[] {1 << 20}, storage);
        sender.call(request("victim", tensor)).close(); // so that it is mapped
        Path segment = only(sender.directory().path().resolve("segments"), ".seg");
        try (FileChannel channel = FileChannel.open(segment, StandardOpenOption.WRITE)) {
            channel.truncate(4096);
        }
        assertThat(failureOf(sender, request("victim", tensor))).isEqualTo(ErrorCode.PEER_CORRUPT);
        storage.release();
        assertThat(failureOf(sender, request("victim"))).isNull();
        assertThat(failureOf(victim, request("sender"))).isNull();
    }

    @Test
    void refusesAPeerOfAnotherUser() throws Exception {
        try (RawWorker bad = new RawWorker(swarm.home(), "bad").publish()) {
            assumeTrue(
                    new ProcessBuilder("chown", "-R", "65533", bad.path().toString())
                                    .start()
                                    .waitFor()
                            == 0,
                    "giving files to another user needs root");
            Worker victim = swarm.join("victim");
            swarm.join("good");
            assertThat(failureOf(victim, request("bad"))).isIn(ErrorCode.PEER_CORRUPT, ErrorCode.UNKNOWN_WORKER);
            assertThat(failureOf(victim, request("good"))).isNull();
            new ProcessBuilder("chown", "-R", "0", bad.path().toString())
                    .start()
                    .waitFor();
        }
    }

    @ParameterizedTest
    @CsvSource({"requests,0", "requests,70000", "responses,0", "responses,70000"})
    void goesOnWithOthersWhenALivePeerCutsItsFilesShort(String file, long bytes) throws Exception {
        try (Processes processes = new Processes(directory.resolve("home"), directory);
                RawWorker bad = new RawWorker(swarm.home(), "bad").publish()) {
            WorkerProcess victim = processes.start("victim").awaitReady();
            bad.contact(victim.id());
            bad.write(bad.request(victim.id()));
            Waits.until("the bad one known", () -> victim.stat("begun") == 1);
            Worker good = swarm.join("good");
            for (int i = 0; i < 2000; i++) {
                bad.write(bad.request(victim.id()));
                bad.response(bad.response(i, victim.id()));
            }
            Waits.until("read", () -> victim.stat("begun") == 2001 && victim.stat("late") == 2000);
            Path path = bad.path().resolve(file);
            try (FileChannel channel = FileChannel.open(only(path, ".cq4"), StandardOpenOption.WRITE)) {
                channel.truncate(bytes);
            }
            for (int i = 0; i < 20; i++) {
                assertThat(failureOf(good, request("victim"))).as(victim::log).isNull();
            }
            Waits.until(
                    () -> "calls to the peer that cut its " + file + " are refused",
                    () -> failureOf(good, request("bad").timeout(Duration.ofMillis(200))) == ErrorCode.PEER_CORRUPT);
            victim.go("good", 4, 20_000, 100, 100);
            long some = victim.stat("responses") + 100;
            Waits.until(victim::log, () -> victim.stat("responses") > some);
            assertThat(victim.stop()).isZero();
            assertThat(victim.log()).doesNotContain(" threw ").doesNotContain("Housekeeping met");
            assertThat(victim.log()
                            .lines()
                            .filter(line -> line.contains("ERROR"))
                            .count())
                    .as(victim::log)
                    .isLessThan(50);
            victim.leave();
        }
    }

    /** A worker with many peers looks at what each announces in its cursors, at each poll. */
    @Test
    void goesOnWithManyOthersWhenALivePeerCutsItsCursorsShort() throws Exception {
        try (Processes processes = new Processes(directory.resolve("home"), directory);
                RawWorker bad = new RawWorker(swarm.home(), "bad").publish()) {
            WorkerProcess victim = processes.start("victim").awaitReady();
            bad.contact(victim.id()).announce(victim.id());
            Waits.until("the bad one known", () -> victim.stat("begun") == 1);
            List<Worker> others = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                others.add(swarm.join("other-" + i));
            }
            callManyTimes(others, victim); // until it is compiled: JDK 17 defers the faults of compiled code only
            try (FileChannel channel = FileChannel.open(bad.path().resolve("cursors"), StandardOpenOption.WRITE)) {
                channel.truncate(0);
            }
            callManyTimes(others, victim);
            Waits.until(victim::log, () -> victim.log().contains("its cursors were cut short"));
            assertThat(victim.log()).doesNotContain(" threw ").doesNotContain("Housekeeping met");
            victim.leave();
        }
    }

    private static void callManyTimes(List<Worker> callers, WorkerProcess called) {
        for (int i = 0; i < 20_000; i++) {
            assertThat(failureOf(callers.get(i % callers.size()), request("victim")))
                    .as(called::log)
                    .isNull();
        }
    }

    @Test
    void callsNoPeerWhoseCursorsWereCutShort() throws Exception {
        try (RawWorker bad = new RawWorker(swarm.home(), "bad").publish()) {
            Worker good = swarm.join("good");
            Worker other = swarm.join("other");
            assertThat(failureOf(good, request("bad").timeout(Duration.ofMillis(100))))
                    .isEqualTo(ErrorCode.TIMED_OUT);
            try (FileChannel channel = FileChannel.open(bad.path().resolve("cursors"), StandardOpenOption.WRITE)) {
                channel.truncate(0);
            }
            Waits.until(() -> "calls are refused", () -> {
                ErrorCode code = failureOf(good, request("bad").timeout(Duration.ofMillis(100)));
                requireNoFaultLeft();
                return code == ErrorCode.PEER_CORRUPT;
            });
            assertThat(failureOf(good, request("other"))).isNull();
            assertThat(failureOf(other, request("good"))).isNull();
        }
    }

    /** The ways to send a request without waiting for its response. */
    enum Sending {
        FUTURE {
            @Override
            void send(Worker caller, Request request) {
                CompletableFuture<Response> call = caller.callAsync(request);
                if (call.isCompletedExceptionally()) {
                    throw (CallException)
                            call.handle((response, failure) -> failure).join();
                }
            }
        },
        LISTENER {
            @Override
            void send(Worker caller, Request request) {
                caller.call(request, IGNORED);
            }
        };

        private static final ResponseListener IGNORED = new ResponseListener() {
            @Override
            public void onResponse(Response response) {}

            @Override
            public void onFailure(CallException failure) {}
        };

        abstract void send(Worker caller, Request request);
    }

    @ParameterizedTest
    @EnumSource(Sending.class)
    void leavesNoFaultBehindASendToAPeerWhoseCursorsWereCutShort(Sending sending) throws Exception {
        try (RawWorker bad = new RawWorker(swarm.home(), "bad").publish()) {
            Worker good = swarm.join("good");
            swarm.join("other");
            for (int i = 0; i < 20_000; i++) { // until it is compiled: JDK 17 defers the faults of compiled code only
                sending.send(good, request("other"));
            }
            Request request = request("bad").timeout(Duration.ofMillis(100));
            sending.send(good, request);
            try (FileChannel channel = FileChannel.open(bad.path().resolve("cursors"), StandardOpenOption.WRITE)) {
                channel.truncate(0);
            }
            Waits.until(() -> "calls are refused", () -> {
                try {
                    sending.send(good, request);
                    return false;
                } catch (CallException e) {
                    return e.code() == ErrorCode.PEER_CORRUPT;
                } finally {
                    requireNoFaultLeft();
                }
            });
        }
    }

    private static void requireNoFaultLeft() {
        assertThatCode(MappedFaults::surface)
                .as("a fault that the call met and left to the program's own code")
                .doesNotThrowAnyException();
    }

    @Test
    void saysThatAHomeIsNotWritable() throws Exception {
        Path home = directory.resolve("read-only");
        try (Processes processes = new Processes(home, directory)) {
            WorkerProcess first = processes
                    .start("first", Processes.RESERVE, Waiting.BALANCED)
                    .awaitReady();
            first.leave();
            Files.setPosixFilePermissions(home, PosixFilePermissions.fromString("r-x------"));
            WorkerProcess second = processes.start("second", Processes.RESERVE, Waiting.BALANCED);
            assertThat(second.response("failed")).contains("is not writable");
            Files.setPosixFilePermissions(home, PosixFilePermissions.fromString("rwx------"));
        }
    }

    @Test
    void refusesToJoinWhereItsOwnFilesAreSomethingElse() throws Exception {
        Worker first = swarm.join("first");
        Path path = first.directory().path();
        swarm.leave(first);
        for (String file : List.of("cursors", "worker.json", "doorbell", "contacts", "lock/owner")) {
            for (Thing thing : List.of(Thing.FIFO, Thing.LINK, Thing.DIRECTORY)) {
                if (List.of("doorbell", "contacts").contains(file) && thing == Thing.FIFO) {
                    continue; // what it must be
                }
                Path at = path.resolve(file);
                Path kept = Files.move(at, at.resolveSibling("kept"));
                thing.putAt(at);
                assertThatThrownBy(() -> swarm.join("first"))
                        .as(thing + " in place of " + file)
                        .isInstanceOf(IOException.class)
                        .hasMessageContaining(file);
                Files.delete(at);
                Files.move(kept, at);
            }
        }
        assertThat(failureOf(swarm.join("first"), request("first"))).isNull();
    }
}
