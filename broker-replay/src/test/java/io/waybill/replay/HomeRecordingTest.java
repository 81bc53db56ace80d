package io.waybill.replay;

import static io.waybill.replay.RecordedHome.handled;
import static io.waybill.replay.RecordedHome.ids;
import static io.waybill.replay.RecordedHome.raw;
import static io.waybill.replay.RecordedHome.worker;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.WorkerInfo;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.journal.CallRecord.Outcome;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.host.DirectoryTree;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.RecordPosition;
import io.waybill.journal.read.QueueReader;
import io.waybill.journal.read.QueueReader.Step;
import io.waybill.query.MessageFilter;
import io.waybill.replay.recording.CallRecording;
import io.waybill.replay.recording.RecordedCall;
import io.waybill.replay.recording.RecordedMessage;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Journals that real workers wrote, read as a recording. */
@Timeout(120)
class HomeRecordingTest {

    private static final MessageType ASK = MessageType.userRequest(0x42);

    @TempDir
    private Path directory;

    private RecordedHome home;

    @BeforeEach
    void open() throws IOException {
        home = new RecordedHome(directory);
    }

    @AfterEach
    void close() throws IOException {
        home.close();
    }

    private HandlerRegistry echo() {
        HandlerRegistry handlers = home.workers.registry();
        home.handleInOrder("server", handlers, "0x142", (message, outbox) -> outbox.respond(message.payload()));
        return handlers;
    }

    private static byte[] number(int number) {
        return ByteBuffer.allocate(4).putInt(number).array();
    }

    private static void call(int first, int count, Worker... callers) throws Exception {
        List<CompletableFuture<Response>> responses = new ArrayList<>();
        for (int i = first; i < first + count; i++) {
            responses.add(callers[i % callers.length].callAsync(raw("server", 0x42, number(i))));
        }
        for (CompletableFuture<Response> response : responses) {
            response.get(60, TimeUnit.SECONDS).close();
        }
    }

    private static RecordView view(RecordedMessage message) {
        return message.in(new MessageBuffer());
    }

    @Test
    void givesTheCallsOfSeveralCallersInTheOrderInWhichTheyBegan() throws Exception {
        Worker server = home.join("server", echo());
        Worker one = home.join("one");
        Worker two = home.join("two");
        call(0, 3000, one, two);
        List.of(one, two, server).forEach(HomeRecordingTest::leave);
        try (CallRecording recording = home.recording()) {
            List<RecordedCall> calls = handled(
                    recording, "server", new MessageFilter.Builder().type(ASK).build());
            assertThat(ids(calls)).isEqualTo(home.begun.get("server"));
            assertThat(calls).hasSize(3000).allSatisfy(call -> {
                RecordView request = view(call.request());
                RecordView response = view(call.response().orElseThrow());
                assertThat(request.id()).isEqualTo(call.id());
                assertThat(response.id()).isEqualTo(call.id());
                assertThat(response.copyPayload()).isEqualTo(request.copyPayload());
                assertThat(call.request().worker().id()).isEqualTo(request.from());
                assertThat(call.request().fileName()).endsWith(".cq4");
            });
            assertThat(recording.problems()).isEmpty();
        }
    }

    @Test
    void keepsTheOrderOverSeveralIncarnations() throws Exception {
        Worker caller = home.join("caller");
        for (int incarnation = 0; incarnation < 3; incarnation++) {
            Worker server = home.join("server", echo());
            call(0, 200, caller);
            server.close();
        }
        caller.close();
        try (CallRecording recording = home.recording()) {
            List<RecordedCall> calls = handled(
                    recording, "server", new MessageFilter.Builder().type(ASK).build());
            assertThat(ids(calls)).hasSize(600).isEqualTo(home.begun.get("server"));
        }
    }

    @Test
    void givesWhatHadADeferredResponseWhereItBegan() throws Exception {
        HandlerRegistry handlers = home.workers.registry();
        List<LateResponse> late = new CopyOnWriteArrayList<>();
        home.handleInOrder("server", handlers, "0x142", (message, outbox) -> {
            if (message.payload().getInt() % 10 == 0) {
                late.add(outbox.later());
            } else {
                outbox.respond(message.payload());
            }
        });
        Worker server = home.join("server", handlers);
        Worker caller = home.join("caller");
        List<CompletableFuture<Response>> responses = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            responses.add(caller.callAsync(raw("server", 0x42, number(i))));
        }
        responses.get(499).get(60, TimeUnit.SECONDS).close();
        List<LateResponse> backwards = new ArrayList<>(late);
        Collections.reverse(backwards);
        backwards.forEach(response -> response.send(Value.of(1)));
        for (CompletableFuture<Response> response : responses) {
            response.get(60, TimeUnit.SECONDS).close();
        }
        caller.close();
        server.close();
        try (CallRecording recording = home.recording()) {
            List<RecordedCall> calls = handled(
                    recording, "server", new MessageFilter.Builder().type(ASK).build());
            assertThat(ids(calls)).hasSize(500).isEqualTo(home.begun.get("server"));
        }
    }

    @Test
    void givesThoseThatNeverBeganAndThoseWithoutAResponseLast() throws Exception {
        HandlerRegistry handlers = echo();
        List<LateResponse> kept = new CopyOnWriteArrayList<>();
        home.workers.handleOnPoller(handlers, "0x143", (message, outbox) -> kept.add(outbox.later()));
        Worker server = home.join("server", handlers);
        Worker caller = home.join("caller");
        CompletableFuture<Response> open = caller.callAsync(raw("server", 0x43, number(0)));
        CompletableFuture<Response> unknown = caller.callAsync(raw("server", 0x44, number(1)));
        call(2, 10, caller);
        assertThat(unknown).failsWithin(60, TimeUnit.SECONDS);
        server.close(); // fails what is open with an error, or leaves it
        caller.close();
        assertThat(kept).hasSize(1);
        assertThat(open).isNotNull();
        try (CallRecording recording = home.recording()) {
            List<RecordedCall> calls = handled(
                    recording,
                    "server",
                    new MessageFilter.Builder().worker(caller.info().id()).build());
            List<RecordedCall> raw = calls.stream()
                    .filter(call -> MessageType.isKnown(view(call.request()).typeCode())
                            && view(call.request()).typeCode() >= ASK.code()
                            && view(call.request()).typeCode() <= ASK.code() + 2)
                    .toList();
            assertThat(raw).hasSize(12);
            RecordedCall refused = raw.get(11);
            assertThat(view(refused.request()).copyPayload()).isEqualTo(number(1));
            assertThat(view(refused.response().orElseThrow()).handlerSequence()).isZero();
        }
    }

    @Test
    void takesWhatTheFilterTakes() throws Exception {
        Worker server = home.join("server", echo());
        Worker one = home.join("one");
        Worker two = home.join("two");
        call(0, 100, one, two);
        assertThat(one.callAsync(raw("server", 0x44, number(7)))).failsWithin(60, TimeUnit.SECONDS);
        List.of(one, two, server).forEach(HomeRecordingTest::leave);
        try (CallRecording recording = home.recording()) {
            MessageFilter.Builder ofTwo =
                    new MessageFilter.Builder().worker(two.info().id()).type(ASK);
            List<RecordedCall> calls = handled(recording, "server", ofTwo.build());
            assertThat(calls).hasSize(50);
            long id = calls.get(10).id();
            assertThat(ids(handled(
                            recording,
                            "server",
                            new MessageFilter.Builder().ids(id, id).build())))
                    .containsExactly(id);
            assertThat(handled(
                            recording,
                            "server",
                            new MessageFilter.Builder()
                                    .ids(id, id)
                                    .peer(two.info().id())
                                    .build()))
                    .isEmpty();
            assertThat(handled(recording, "server", ofTwo.outcome(Outcome.ERROR).build()))
                    .isEmpty();
            assertThat(handled(
                            recording,
                            "server",
                            new MessageFilter.Builder().outcome(Outcome.ERROR).build()))
                    .hasSize(1);
            assertThat(handled(
                            recording,
                            "server",
                            new MessageFilter.Builder()
                                    .type(ASK)
                                    .slowerThan(Long.MAX_VALUE - 1)
                                    .build()))
                    .isEmpty();
        }
    }

    private HandlerRegistry asking(String next) {
        HandlerRegistry handlers = home.workers.registry();
        home.workers.handle(handlers, "0x142", (message, outbox) -> {
            for (int i = 0; i < 2; i++) {
                outbox.caller().call(raw(next, 0x42, number(i))).close();
            }
            outbox.respond(message.payload());
        });
        return handlers;
    }

    @Test
    void givesWhatHandlersCalled() throws Exception {
        Worker last = home.join("last", last());
        Worker middle = home.join("middle", asking("last"));
        Worker server = home.join("server", asking("middle"));
        Worker caller = home.join("caller");
        call(0, 20, caller);
        List.of(caller, server, middle, last).forEach(HomeRecordingTest::leave);
        requireTrees();
        for (String name : List.of("caller", "server", "middle", "last")) {
            DirectoryTree.remove(home.directory(name).resolve("index"));
        }
        requireTrees();
    }

    private HandlerRegistry last() {
        HandlerRegistry handlers = home.workers.registry();
        home.workers.handle(handlers, "0x142", (message, outbox) -> outbox.respond(message.payload()));
        return handlers;
    }

    private void requireTrees() throws IOException {
        try (CallRecording recording = home.recording()) {
            List<RecordedCall> calls = handled(
                    recording, "server", new MessageFilter.Builder().type(ASK).build());
            assertThat(calls).hasSize(20);
            for (RecordedCall call : calls) {
                List<RecordedCall> below = recording.nested(call);
                assertThat(below).hasSize(2).allSatisfy(nested -> {
                    assertThat(view(nested.request()).parent()).isEqualTo(call.id());
                    assertThat(nested.response()).isPresent();
                });
                List<RecordedCall> deepest = recording.nested(below.get(1));
                assertThat(deepest).hasSize(2);
                assertThat(view(deepest.get(1).request()).copyPayload()).isEqualTo(number(1));
                assertThat(recording.nested(deepest.get(0))).isEmpty();
                assertThat(recording.call(call.id()).orElseThrow().response()).isPresent();
            }
            RecordedMessage any = calls.get(0).request();
            assertThat(recording.nested(new RecordedCall(MessageId.NONE, any, Optional.empty())))
                    .isEmpty();
            assertThat(recording.call(MessageId.of(30_000, 5))).isEmpty();
        }
    }

    /** Turns a byte of the payload of a record over. */
    private void damage(String worker, JournalQueue queue, long id) throws IOException {
        Path directory = home.directory(worker);
        RecordPosition position = null;
        try (QueueReader reader =
                QueueReader.open(queue.in(directory), home.workers.host.files(), RecordedHome.SETTINGS.journal())) {
            for (Step step = reader.next(); step != Step.END; step = reader.next()) {
                if (step == Step.RECORD && reader.record().id() == id) {
                    position = reader.position();
                }
            }
        }
        assertThat(position).isNotNull();
        try (RandomAccessFile file = new RandomAccessFile(
                queue.in(directory).resolve(position.fileName()).toFile(), "rw")) {
            file.seek(position.offset() + 4 + 104);
            int was = file.read();
            file.seek(position.offset() + 4 + 104);
            file.write(was ^ 0xff);
        }
    }

    @Test
    void passesOverWhatIsDamagedAndReportsIt() throws Exception {
        Worker server = home.join("server", echo());
        Worker caller = home.join("caller");
        call(0, 100, caller);
        caller.close();
        server.close();
        MessageFilter asked = new MessageFilter.Builder().type(ASK).build();
        List<Long> before;
        try (CallRecording recording = home.recording()) {
            before = ids(handled(recording, "server", asked));
        }
        damage("caller", JournalQueue.REQUESTS, before.get(20));
        damage("server", JournalQueue.RESPONSES, before.get(50));
        try (CallRecording recording = home.recording()) {
            List<RecordedCall> calls = handled(recording, "server", asked);
            List<Long> expected = new ArrayList<>(before);
            expected.remove(50);
            expected.remove(20);
            expected.add(before.get(50)); // its response is gone, and with it when it began
            assertThat(ids(calls)).isEqualTo(expected);
            assertThat(calls.get(98).response()).isEmpty();
            assertThat(recording.problems())
                    .anyMatch(text -> text.contains("checksum"))
                    .anyMatch(text -> text.contains("no request on record"));
        }
    }

    private Map<String, String> snapshot() throws IOException {
        Map<String, String> found = new TreeMap<>();
        try (Stream<Path> all = Files.walk(home.path())) {
            for (Path each : all.toList()) {
                Object content = Files.isRegularFile(each, LinkOption.NOFOLLOW_LINKS)
                        ? Arrays.hashCode(Files.readAllBytes(each))
                        : "";
                found.put(each.toString(), Files.getLastModifiedTime(each, LinkOption.NOFOLLOW_LINKS) + " " + content);
            }
        }
        return found;
    }

    private void permit(String directories, String files) throws IOException {
        List<Path> all;
        try (Stream<Path> walked = Files.walk(home.path())) {
            all = walked.filter(path -> !Files.isSymbolicLink(path)).toList();
        }
        for (Path each : all) {
            Files.setPosixFilePermissions(
                    each, PosixFilePermissions.fromString(Files.isDirectory(each) ? directories : files));
        }
    }

    @Test
    void readsAHomeThatMayOnlyBeReadAndLeavesItAsItIs() throws Exception {
        Worker server = home.join("server", echo());
        Worker caller = home.join("caller");
        call(0, 50, caller);
        caller.close();
        server.close();
        permit("r-x------", "r--------");
        try {
            Map<String, String> before = snapshot();
            try (CallRecording recording = Replay.open(home.path(), home.workers.host)) {
                for (RecordedCall call : handled(recording, "server", MessageFilter.ALL)) {
                    assertThat(recording.nested(call)).isEmpty();
                    assertThat(recording.call(call.id())).isPresent();
                }
            }
            assertThat(snapshot()).isEqualTo(before);
        } finally {
            permitAgain(home.path());
        }
    }

    /** From the top, as nobody but root could look into what may not be read. */
    private static void permitAgain(Path path) throws IOException {
        if (Files.isSymbolicLink(path)) {
            return;
        }
        boolean isDirectory = Files.isDirectory(path);
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString(isDirectory ? "rwx------" : "rw-------"));
        if (isDirectory) {
            try (Stream<Path> below = Files.list(path)) {
                for (Path each : below.toList()) {
                    permitAgain(each);
                }
            }
        }
    }

    @Test
    void readsWhileWorkersLive() throws Exception {
        home.join("server", echo());
        Worker caller = home.join("caller");
        call(0, 100, caller);
        try (CallRecording recording = home.recording();
                CallRecording.Handled handled = recording.handled(worker(recording, "server"), MessageFilter.ALL)) {
            assertThat(handled.next()).isNotNull();
            call(100, 100, caller);
            int given = 1;
            while (handled.next() != null) {
                given++;
            }
            assertThat(given).isGreaterThanOrEqualTo(100);
        }
    }

    @Test
    void saysWhenAWorkerHasNoJournal() throws Exception {
        home.join("server", echo()).close();
        try (CallRecording recording = home.recording()) {
            assertThatIOException()
                    .isThrownBy(() -> recording.handled(new WorkerInfo(77, "nobody"), MessageFilter.ALL))
                    .withMessageContaining("expected a journal of worker nobody");
        }
    }

    private static void leave(Worker worker) {
        try {
            worker.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
