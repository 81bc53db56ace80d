package io.waybill.worker.recover;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.home.WorkerRecord;
import io.waybill.journal.JournalSettings;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
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
import org.junit.jupiter.params.provider.ValueSource;

/** Files of a worker that are lost, while it is not there and while it is: no id is given twice, nothing runs twice, and it is told. */
@Tag("ci")
@Timeout(60)
class LostFilesTest {

    private static final String ECHO = "0x142";
    private static final String SILENT = "0x143";
    /** Files end after a megabyte. */
    private static final WorkerSettings SMALL = Workers.SETTINGS.toBuilder()
            .journal(Workers.SETTINGS.journal().withFileBytes(JournalSettings.FILE_BYTES_MIN))
            .build();

    @TempDir
    private Path directory;

    private Workers workers;
    private HandlerRegistry handlers;
    /** How often the request of an id was handled. */
    private final Map<Long, Integer> handled = new ConcurrentHashMap<>();

    @BeforeEach
    void open() throws IOException {
        workers = new Workers(directory);
        handlers = serving();
    }

    private HandlerRegistry serving() {
        HandlerRegistry registry = workers.registry();
        workers.handleOnPoller(registry, ECHO, (message, outbox) -> {
            handled.merge(message.id(), 1, Integer::sum);
            outbox.respond(message.payload());
        });
        workers.handle(registry, SILENT, (message, outbox) -> outbox.later());
        return registry;
    }

    @AfterEach
    void leave() throws IOException {
        workers.close();
    }

    private static Request request(String type, int n, int bytes) {
        ByteBuffer payload = ByteBuffer.allocate(bytes).putInt(0, n);
        return Request.raw("server", MessageType.of(Integer.decode(type)), payload, List.of());
    }

    /** Calls, checks each response, and gives the ids. */
    private static List<Long> call(Worker caller, int calls, int bytes) {
        List<Long> ids = new ArrayList<>();
        for (int i = 0; i < calls; i++) {
            try (Response response = caller.call(request(ECHO, i, bytes).timeout(Duration.ofSeconds(10)))) {
                assertThat(response.payload().getInt(0)).isEqualTo(i);
                ids.add(response.id());
            }
        }
        return ids;
    }

    /** What is sent before that goes to the incarnation that left, and is lost. */
    private static void awaitReturn(Worker returned, Worker caller) {
        Waits.until(
                "the caller knows that it returned",
                () -> caller.broker().peers().contains(returned.broker().self()));
    }

    private void assertNothingRanTwice() {
        assertThat(handled.values()).as("how often each request was handled").containsOnly(1);
    }

    private static List<Path> files(Worker worker, String queue) throws IOException {
        return files(worker.directory().path().resolve(queue), ".cq4");
    }

    private static List<Path> files(Path directory, String suffix) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.filter(path -> path.toString().endsWith(suffix))
                    .sorted()
                    .toList();
        }
    }

    private static void remove(Path path) throws IOException {
        try (Stream<Path> below = Files.walk(path)) {
            for (Path each : below.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(each);
            }
        }
    }

    /** @param what paths in the worker's directory, some with a star */
    private static void remove(Worker worker, String what) throws IOException {
        for (String name : what.split(" ")) {
            Path path = worker.directory().path().resolve(name.replace("/*", ""));
            if (name.endsWith("*")) {
                for (Path file : files(path, ".cq4")) {
                    Files.delete(file);
                }
            } else if (Files.exists(path)) {
                remove(path);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "requests/*",
                "requests/* requests/metadata.cq4t",
                "requests/* requests/boot",
                "requests",
                "requests/* cursors",
                "requests cursors",
                "requests responses",
                "requests/* worker.json",
                "requests/* lock worker.json",
                "requests/* index"
            })
    void givesNoIdTwiceWhenItsRequestsWereLost(String what) throws Exception {
        workers.join("server", handlers);
        Worker caller = workers.join("caller");
        List<Long> before = call(caller, 50, 64);
        long epoch = caller.directory().epoch();
        caller.close();
        remove(caller, what);

        Worker returned = workers.join("caller");
        assertThat(returned.directory().epoch()).isEqualTo(epoch + 1);
        assertThat(returned.directory().record().settings().get(WorkerRecord.LOST))
                .contains("caller/requests")
                .contains("lost");
        List<Long> ids = call(returned, 50, 64);
        assertThat(ids).doesNotContainAnyElementsOf(before);
        assertThat(ids.get(0)).isGreaterThan(before.get(49));
        if (!what.contains("cursors")) { // which say what it had heard
            assertThat(returned.unanswered(100)).isEmpty();
        }
        assertNothingRanTwice();
        returned.close();
        assertThat(call(workers.join("caller"), 1, 64).get(0)).isEqualTo(ids.get(49) + 1);
    }

    @Test
    void namesTheCallsThatWereLostWithoutAResponse() throws Exception {
        workers.join("server", handlers);
        Worker caller = workers.join("caller");
        call(caller, 20, 64);
        CompletableFuture<Response> open = caller.callAsync(request(SILENT, 1, 64));
        caller.close();
        long id = assertThrows(ExecutionException.class, open::get).getCause() instanceof CallException e
                ? e.messageId()
                : MessageId.NONE;
        remove(caller, "requests/*");
        Worker returned = workers.join("caller");
        call(returned, 5, 64);
        assertThat(returned.unanswered(100)).containsExactly(id);
        assertThatThrownBy(() -> returned.claim(id, Duration.ofSeconds(10)))
                .isInstanceOfSatisfying(
                        CallException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.UNKNOWN_CALL));
    }

    @Test
    void knowsWhichIdsItGaveWithoutAnyPeer() throws Exception {
        Worker server = workers.join("server", handlers);
        Worker caller = workers.join("caller");
        List<Long> before = call(caller, 20, 64);
        caller.close();
        server.close();
        remove(caller, "requests/*");
        remove(server, "cursors responses");
        workers.join("server", handlers);
        assertThat(call(workers.join("caller"), 5, 64).get(0)).isGreaterThan(before.get(19));
        assertNothingRanTwice();
    }

    @ParameterizedTest
    @ValueSource(strings = {"responses/*", "responses", "responses cursors", "responses/* lock worker.json", "cursors"})
    void runsNothingTwiceWhenItsResponsesWereLost(String what) throws Exception {
        Worker server = workers.join("server", handlers);
        Worker caller = workers.join("caller");
        List<Long> before = call(caller, 50, 64);
        server.close();
        remove(server, what);

        Worker returned = workers.join("server", serving());
        if (!what.equals("cursors")) {
            assertThat(returned.directory().record().settings().get(WorkerRecord.LOST))
                    .contains("server/responses");
        }
        awaitReturn(returned, caller);
        call(caller, 50, 64);
        caller.close();
        Worker again = workers.join("caller");
        for (long id : before) {
            try {
                again.repeat(id, Duration.ofSeconds(10)).close();
                assertThat(what).as("the response is on record").isEqualTo("cursors");
            } catch (CallException e) {
                assertThat(e.code()).isEqualTo(ErrorCode.WORKER_LOST);
            }
        }
        assertNothingRanTwice();
        assertThat(handled).hasSize(100);
    }

    @ParameterizedTest
    @CsvSource({"requests,0", "requests,-1", "responses,0", "responses,-1"})
    void goesOnBehindFilesOfWhichSomeWereLost(String queue, int which) throws Exception {
        Worker server = workers.join("server", handlers, SMALL);
        Worker caller = workers.join("caller", workers.registry(), SMALL);
        List<Long> before = call(caller, 60, 64 << 10);
        Worker loser = queue.equals("requests") ? caller : server;
        loser.close();
        List<Path> files = files(loser, queue);
        assertThat(files).hasSizeGreaterThan(2);
        Files.delete(files.get((files.size() + which) % files.size()));

        Worker returned = workers.join(loser.info().name(), serving(), SMALL);
        assertThat(returned.directory().record().settings().get(WorkerRecord.LOST))
                .contains(queue);
        Worker calls = loser == caller ? returned : caller;
        if (calls == caller) {
            awaitReturn(returned, caller);
        }
        List<Long> ids = call(calls, 30, 64);
        assertThat(ids).doesNotContainAnyElementsOf(before);
        assertNothingRanTwice();
        returned.close();
        Worker third = workers.join(loser.info().name(), serving(), SMALL);
        assertThat(third.directory().record().settings()).doesNotContainKey(WorkerRecord.LOST);
        call(loser == caller ? third : caller, 30, 64);
        assertNothingRanTwice();
    }

    @Test
    void believesNoClaimThatCannotBe() throws Exception {
        workers.join("server", handlers);
        Worker caller = workers.join("caller");
        List<Long> before = call(caller, 10, 64);
        caller.close();
        caller.directory().cursors().requests().written(Long.MAX_VALUE, Long.MAX_VALUE);
        caller.directory().cursors().nextCounter(MessageId.MAX_COUNTER);
        remove(caller, "requests/*");
        Worker returned = workers.join("caller");
        List<Long> ids = call(returned, 10, 64);
        assertThat(ids.get(0)).isGreaterThan(before.get(9)).isLessThan(before.get(9) + (1L << 40));
        assertThat(files(returned, "requests").get(0).getFileName().toString()).startsWith("20");
    }

    /** What happens to a file. */
    enum Harm {
        REMOVED {
            @Override
            void to(Path file) throws IOException {
                Files.delete(file);
            }
        },
        RENAMED {
            @Override
            void to(Path file) throws IOException {
                Files.move(file, file.resolveSibling("aside"));
            }
        },
        REPLACED {
            @Override
            void to(Path file) throws IOException {
                Path copy = Files.copy(file, file.resolveSibling("copy"));
                Files.move(copy, file, StandardCopyOption.REPLACE_EXISTING);
            }
        },
        CUT {
            @Override
            void to(Path file) throws IOException {
                try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
                    channel.truncate(100);
                }
            }
        },
        CUT_AND_GROWN {
            @Override
            void to(Path file) throws IOException {
                long size = Files.size(file);
                try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
                    channel.truncate(70_000);
                    channel.write(ByteBuffer.allocate(1), size - 1);
                }
            }
        };

        abstract void to(Path file) throws IOException;
    }

    @ParameterizedTest
    @CsvSource({
        "requests/newest,REMOVED",
        "requests/newest,RENAMED",
        "requests/newest,REPLACED",
        "requests/newest,CUT",
        "requests/newest,CUT_AND_GROWN",
        "requests/oldest,REMOVED",
        "requests/oldest,REPLACED",
        "requests/oldest,CUT",
        "requests/metadata.cq4t,REMOVED",
        "requests,RENAMED",
        "responses/newest,REMOVED",
        "responses/newest,CUT_AND_GROWN",
        "responses/oldest,CUT",
        "cursors,REMOVED",
        "cursors,REPLACED"
    })
    void stopsWhenAFileIsLostWhileItIsThere(String what, Harm harm) throws Exception {
        Worker server = workers.join("server", handlers, SMALL);
        Worker caller = workers.join("caller", workers.registry(), SMALL);
        List<Long> before = call(caller, 44, 64 << 10);
        Worker loser = what.startsWith("responses") ? server : caller;
        Worker other = loser == caller ? server : caller;
        CompletableFuture<Response> open = caller.callAsync(request(SILENT, 1, 64));
        Path file = file(loser, what);
        harm.to(file);

        IOException why = loser.failure().get(20, TimeUnit.SECONDS);
        assertThat(why).hasMessageContaining(file.toString());
        if (loser == caller) {
            assertThat(codeOf(open)).isEqualTo(ErrorCode.JOURNAL_FAILED);
        } else { // as its peer notices first
            assertThat(codeOf(open)).isIn(ErrorCode.WORKER_LOST, ErrorCode.PEER_CORRUPT);
        }
        assertThatThrownBy(() -> loser.call(request(ECHO, 1, 64))).isInstanceOfSatisfying(CallException.class, e -> {
            assertThat(e.code()).isEqualTo(ErrorCode.JOURNAL_FAILED);
            assertThat(e).hasMessageContaining(file.toString());
        });
        assertThat(other.failure()).isNotDone();
        assertThat(loser.pendingCalls()).isZero();
        Worker returned = workers.join(loser.info().name(), serving(), SMALL);
        List<Long> ids = call(loser == caller ? returned : caller, 20, 64);
        assertThat(ids).doesNotContainAnyElementsOf(before);
        assertNothingRanTwice();
    }

    private static Path file(Worker worker, String what) throws IOException {
        Path path = worker.directory().path().resolve(what);
        if (!what.endsWith("/newest") && !what.endsWith("/oldest")) {
            return path;
        }
        List<Path> files = files(path.getParent(), ".cq4");
        return what.endsWith("oldest") ? files.get(0) : files.get(files.size() - 1);
    }

    private static ErrorCode codeOf(CompletableFuture<Response> call) throws Exception {
        try {
            call.get(20, TimeUnit.SECONDS).close();
            throw new AssertionError("it was responded to");
        } catch (ExecutionException e) {
            return ((CallException) e.getCause()).code();
        }
    }
}
