package io.waybill.system;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Somebody damages the files of one worker: errors have a code and name the file, and the other workers call each other as before. */
@Tag("ci")
@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class DamagedWorkersSystemTest {

    private static final Set<ErrorCode> TYPED =
            EnumSet.of(ErrorCode.PEER_CORRUPT, ErrorCode.WORKER_LOST, ErrorCode.JOURNAL_FAILED, ErrorCode.CLOSED);

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

    private enum Harm {
        GARBAGE,
        GARBAGE_AHEAD,
        CUT_TO_ZERO,
        CUT_TO_HALF
    }

    private static void harm(Path file, Harm harm) throws IOException {
        byte[] garbage = new byte[64 << 10];
        new Random(5).nextBytes(garbage);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            switch (harm) {
                case GARBAGE -> channel.write(ByteBuffer.wrap(garbage, 0, 4096), 0);
                case GARBAGE_AHEAD -> {
                    garbage[3] = 1; // a finished frame
                    channel.write(ByteBuffer.wrap(garbage), written(file) + 3 & ~3L);
                }
                case CUT_TO_ZERO -> channel.truncate(0);
                case CUT_TO_HALF -> channel.truncate(written(file) / 2);
            }
        }
    }

    private static long written(Path file) throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        int end = bytes.length;
        while (end > 0 && bytes[end - 1] == 0) {
            end--;
        }
        return end;
    }

    private static Path resolve(Path worker, String file) throws IOException {
        Path path = worker.resolve(file);
        if (!file.endsWith("*.cq4")) {
            return path;
        }
        try (Stream<Path> files = Files.list(path.getParent())) {
            return files.filter(each -> each.toString().endsWith(".cq4"))
                    .max(Comparator.naturalOrder())
                    .orElseThrow();
        }
    }

    private static Request request(String to, Duration timeout) {
        byte[] payload = new byte[64];
        new Random(3).nextBytes(payload);
        payload[63] = 1;
        return Request.raw(to, MessageType.userRequest(0x42), ByteBuffer.wrap(payload), List.of())
                .timeout(timeout);
    }

    /** The error of a call; null when it went well. Anything but a CallException fails the test. */
    private static CallException failureOf(Worker caller, String to, Duration timeout) {
        try {
            caller.call(request(to, timeout)).close();
            return null;
        } catch (CallException e) {
            return e;
        }
    }

    private static ErrorCode codeOf(Worker caller, String to) {
        CallException failure = failureOf(caller, to, Duration.ofSeconds(10));
        return failure == null ? null : failure.code();
    }

    @ParameterizedTest
    @CsvSource({
        "requests/metadata.cq4t,GARBAGE",
        "responses/metadata.cq4t,GARBAGE",
        "requests/*.cq4,GARBAGE_AHEAD",
        "responses/*.cq4,GARBAGE_AHEAD",
    })
    void endsTheWorkerWhoseFilesAnotherProcessWrites(String file, Harm harm) throws Exception {
        Worker app = swarm.join("app");
        Worker good = swarm.join("good");
        Worker bad = swarm.join("bad");
        for (int i = 0; i < 20; i++) {
            assertThat(codeOf(app, "bad")).isNull();
            assertThat(codeOf(bad, "app")).isNull();
            assertThat(codeOf(app, "good")).isNull();
        }
        Path harmed = resolve(bad.directory().path(), file);
        harm(harmed, harm);
        Waits.until(() -> "calls by or to the worker with the damaged files fail, and it stops", () -> {
            requireTypedOrNone(failureOf(app, "bad", Duration.ofSeconds(20)));
            requireTypedOrNone(failureOf(bad, "app", Duration.ofSeconds(20)));
            return bad.failure().isDone();
        });
        assertThat(bad.failure().get(0, TimeUnit.SECONDS)).hasMessageContaining(harmed.toString());
        for (int i = 0; i < 20; i++) {
            assertThat(codeOf(app, "good")).isNull();
            assertThat(codeOf(good, "app")).isNull();
        }
        Waits.until(() -> "calls to it fail at once", () -> codeOf(app, "bad") == ErrorCode.WORKER_LOST);
        Worker again = swarm.join("bad");
        for (int i = 0; i < 20; i++) {
            assertThat(codeOf(app, "bad")).isNull();
            assertThat(codeOf(again, "app")).isNull();
        }
    }

    private static void requireTypedOrNone(CallException failure) {
        if (failure != null) {
            assertThat(failure.code()).as(failure.getMessage()).isIn(TYPED);
        }
    }

    /** A fault shows no more than that some file was cut; it was its own. */
    @Test
    void blamesNoPeerWhenItsOwnCursorsAreCut() throws Exception {
        try (Processes processes = new Processes(directory.resolve("home"), directory)) {
            Worker good = swarm.join("good");
            WorkerProcess victim = processes.start("victim").awaitReady();
            victim.go("good", 4, 20_000, 100, 100);
            Waits.until(victim::log, () -> victim.stat("responses") > 100);
            for (int i = 0; i < 20; i++) {
                assertThat(codeOf(good, "victim")).isNull();
            }
            Path cursors;
            try (Stream<Path> workers = Files.list(directory.resolve("home/workers"))) {
                cursors = workers.filter(path -> path.toString().endsWith("-victim"))
                        .findFirst()
                        .orElseThrow()
                        .resolve("cursors");
            }
            harm(cursors, Harm.CUT_TO_ZERO);
            Waits.until(() -> "calls to it are refused", () -> {
                ErrorCode code = codeOf(good, "victim");
                return code != null && TYPED.contains(code);
            });
            assertThat(victim.log()).doesNotContain("What worker good");
            victim.kill();
        }
    }

    @ParameterizedTest
    @CsvSource({
        "responses/metadata.cq4t,GARBAGE",
        "responses/*.cq4,GARBAGE",
        "responses/*.cq4,CUT_TO_ZERO",
        "responses/*.cq4,CUT_TO_HALF",
        "cursors,GARBAGE",
        "cursors,CUT_TO_ZERO"
    })
    void reportsWhatHasNoResponseBesideAWorkerWithDamagedFiles(String file, Harm harm) throws Exception {
        Worker good = swarm.join("good");
        Worker bad = swarm.join("bad");
        Worker first = swarm.join("app");
        for (int i = 0; i < 5; i++) {
            assertThat(codeOf(first, "bad")).isNull();
            assertThat(codeOf(first, "good")).isNull();
        }
        Path path = bad.directory().path();
        swarm.leave(first);
        swarm.leave(bad);
        harm(resolve(path, file), harm);
        Worker second = swarm.join("app");
        assertThat(second.unanswered(100).length).isLessThanOrEqualTo(5);
        assertThat(codeOf(second, "good")).isNull();
        assertThat(codeOf(good, "app")).isNull();
    }

    @ParameterizedTest
    @CsvSource({
        "requests/*.cq4,GARBAGE",
        "requests/*.cq4,GARBAGE_AHEAD",
        "responses/*.cq4,GARBAGE",
        "responses/*.cq4,GARBAGE_AHEAD",
        "responses/*.cq4,CUT_TO_HALF"
    })
    void saysWhichOfItsOwnFilesAWorkerCantJoinWith(String file, Harm harm) throws Exception {
        Path harmed = harmedAfterLeaving(file, harm);
        assertThatThrownBy(() -> swarm.join("app"))
                .isInstanceOf(IOException.class)
                .hasMessageContaining(harmed.toString())
                .hasMessageContaining("app")
                .hasMessageContaining("verify");
    }

    private Path harmedAfterLeaving(String file, Harm harm) throws IOException {
        Worker good = swarm.join("good");
        Worker app = swarm.join("app");
        for (int i = 0; i < 5; i++) {
            assertThat(codeOf(app, "good")).isNull();
            assertThat(codeOf(good, "app")).isNull();
        }
        Path harmed = resolve(app.directory().path(), file);
        swarm.leave(app);
        harm(harmed, harm);
        return harmed;
    }

    /** These say nothing that is nowhere else. */
    @ParameterizedTest
    @CsvSource({
        "requests/metadata.cq4t,GARBAGE",
        "responses/metadata.cq4t,GARBAGE",
        "responses/metadata.cq4t,CUT_TO_ZERO",
        "cursors,GARBAGE",
        "cursors,CUT_TO_ZERO",
        "cursors,CUT_TO_HALF",
        "worker.json,GARBAGE",
        "worker.json,CUT_TO_ZERO"
    })
    void joinsOverItsOwnFilesThatCanBeMadeFromScratch(String file, Harm harm) throws Exception {
        harmedAfterLeaving(file, harm);
        Worker app = swarm.join("app");
        Worker other = swarm.join("other");
        assertThat(codeOf(app, "good")).isNull();
        assertThat(codeOf(other, "app")).isNull();
        // without cursors it is not known which responses the worker had read: those of the five calls before, at most
        assertThat(app.unanswered(100).length).isLessThanOrEqualTo(file.equals("cursors") ? 5 : 0);
    }
}
