package io.waybill.query;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.MessageId;
import io.waybill.api.Value;
import io.waybill.api.WorkerInfo;
import io.waybill.api.journal.CallQuery;
import io.waybill.api.journal.CallRecord;
import io.waybill.api.journal.CallRecord.Outcome;
import io.waybill.api.journal.JournalFollower;
import io.waybill.api.journal.JournalReader;
import io.waybill.api.journal.Journals;
import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Readers of journals that were given to foreign code. */
@Timeout(120)
class JournalAccessTest {

    private static final String CLOSED = "the reader of the journals is closed";

    @TempDir
    private Path directory;

    private WrittenHome written;
    private JournalAccess journals;

    @BeforeEach
    void write() throws IOException {
        written = new WrittenHome(directory).calls(0, 100);
        journals = JournalAccess.of(written.home.path());
    }

    @AfterEach
    void close() {
        journals.close();
    }

    private static long id(long counter) {
        return MessageId.of(WrittenHome.CALLER, counter);
    }

    @Test
    void findsACallWithItsOutcome() throws IOException {
        try (JournalReader reader = journals.open()) {
            assertThat(reader.workers()).extracting(WorkerInfo::name).containsExactly("caller", "callee");
            CallRecord failed = reader.find(id(6)).orElseThrow();
            assertThat(failed.id()).isEqualTo(id(6));
            assertThat(failed.operation()).contains("text.count");
            assertThat(failed.errorCode()).contains(ErrorCode.REFUSED);
            assertThat(failed.request().to()).isEqualTo(WrittenHome.CALLEE);
            assertThat(failed.tookNs()).contains(500L);
            assertThat(reader.content(failed.response().orElseThrow())
                            .orElseThrow()
                            .text())
                    .contains("Error on Node 4: no");
            assertThat(reader.find(id(100))).isEmpty();
            assertThat(reader.find(MessageId.of(77, 1)))
                    .as("a worker without a journal")
                    .isEmpty();
        }
    }

    /** The content of each call is read while the list is. */
    @Test
    void listsCallsByConditionsAndReadsTheirContentMeanwhile() throws IOException {
        List<Value> arguments = new ArrayList<>();
        try (JournalReader reader = journals.open()) {
            CallQuery responded = reader.query().operation("text.c*").outcome(Outcome.OK);
            reader.list(responded.until(WrittenHome.START_NS + 50_000), 3, call -> {
                arguments.add(argument(reader, call));
                assertThat(found(reader, call.id()).outcome()).isEqualTo(Outcome.OK);
            });
            assertThat(arguments).containsExactly(Value.of(42), Value.of(44), Value.of(46));
            List<Long> ids = new ArrayList<>();
            reader.list(reader.query().argument("0", Value.of(17.0)), 0, call -> ids.add(call.id()));
            assertThat(ids).containsExactly(id(17));
        }
    }

    private static Value argument(JournalReader reader, CallRecord call) {
        try {
            Invocation content =
                    reader.content(call.request()).orElseThrow().call().orElseThrow();
            return content.positional().get(0);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static CallRecord found(JournalReader reader, long id) {
        try {
            return reader.find(id).orElseThrow();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void followsFromNowOn() throws IOException {
        try (JournalReader reader = journals.open()) {
            JournalFollower follower = reader.follow(reader.query().operation("text.length"));
            List<String> seen = new ArrayList<>();
            assertThat(follower.poll((message, operation) -> seen.add(operation.orElseThrow())))
                    .isZero();
            written.calls(100, 110);
            assertThat(follower.poll((message, operation) ->
                            seen.add(MessageId.text(message.id()) + " " + operation.orElseThrow())))
                    .isEqualTo(5);
            assertThat(seen).startsWith("3.101 text.length").hasSize(5);
            follower.close();
            assertThatExceptionOfType(IOException.class)
                    .isThrownBy(() -> follower.poll((message, operation) -> {}))
                    .withMessage("the follower of the journals is closed");
        }
    }

    @Test
    void followsOnAfterASinkThrewWithoutTheRestOfItsBatch() throws IOException {
        try (JournalReader reader = journals.open()) {
            JournalFollower follower = reader.follow(reader.query().operation("text.length"));
            written.calls(100, 110);
            assertThatExceptionOfType(IllegalStateException.class)
                    .isThrownBy(() -> follower.poll((message, operation) -> {
                        throw new IllegalStateException("planted");
                    }))
                    .withMessage("planted");
            assertThat(follower.poll((message, operation) -> {})).as("the rest").isZero();
            written.calls(110, 120);
            assertThat(follower.poll((message, operation) -> {}))
                    .as("later ones")
                    .isEqualTo(5);
        }
    }

    @Test
    void endsItsFollowersWhenItIsClosed() throws IOException {
        JournalReader reader = journals.open();
        JournalFollower follower = reader.follow(reader.query());
        reader.close();
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> follower.poll((message, operation) -> {}))
                .withMessage(CLOSED);
        follower.close();
        assertThatExceptionOfType(IOException.class).isThrownBy(reader::workers).withMessage(CLOSED);
    }

    @Test
    void servesOnAfterASinkThrew() throws IOException {
        try (JournalReader reader = journals.open()) {
            assertThatExceptionOfType(IllegalStateException.class)
                    .isThrownBy(() -> reader.list(reader.query(), 0, call -> {
                        throw new IllegalStateException("planted");
                    }))
                    .withMessage("planted");
            assertThat(reader.find(id(1))).isPresent();
        }
    }

    @Test
    void canBeClosedByItsOwnSink() throws IOException {
        JournalReader reader = journals.open();
        List<Long> seen = new ArrayList<>();
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> reader.list(reader.query(), 0, call -> {
                    seen.add(call.id());
                    closeQuietly(reader);
                }))
                .withMessage(CLOSED);
        assertThat(seen).containsExactly(id(0));
        assertThat(openFiles()).as("files that are still open").isEmpty();
        assertThatAllPlacesAreFree();
    }

    /** Returns the files of the home that this process has open. */
    private List<Path> openFiles() throws IOException {
        List<Path> open = new ArrayList<>();
        try (DirectoryStream<Path> descriptors = Files.newDirectoryStream(Path.of("/proc/self/fd"))) {
            for (Path descriptor : descriptors) {
                try {
                    open.add(Files.readSymbolicLink(descriptor));
                } catch (NoSuchFileException e) {
                    continue; // closed since it was listed
                }
            }
        }
        return open.stream()
                .filter(path -> path.startsWith(written.home.path()))
                .toList();
    }

    private static void closeQuietly(JournalReader reader) {
        try {
            reader.close();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private void assertThatAllPlacesAreFree() throws IOException {
        List<JournalReader> open = new ArrayList<>();
        for (int i = 0; i < Journals.MAX_OPEN; i++) {
            open.add(journals.open());
        }
        for (JournalReader reader : open) {
            reader.close();
        }
    }

    /** A bundle must be able to stop while its sink hangs. */
    @Test
    void isClosedWithoutAWaitForASinkThatHangs() throws Exception {
        JournalReader reader = journals.open();
        CountDownLatch hangs = new CountDownLatch(1);
        CountDownLatch hang = new CountDownLatch(1);
        AtomicReference<Throwable> failure = new AtomicReference<>();
        Thread thread = new Thread(() -> {
            try {
                reader.list(reader.query(), 0, call -> {
                    hangs.countDown();
                    await(hang);
                });
            } catch (IOException | RuntimeException e) {
                failure.set(e);
            }
        });
        thread.start();
        await(hangs);
        journals.close();
        assertThat(thread.isAlive()).isTrue();
        hang.countDown();
        Waits.until("the list ends", () -> !thread.isAlive());
        assertThat(failure.get()).isInstanceOf(IOException.class).hasMessage(CLOSED);
        assertThatExceptionOfType(IllegalStateException.class)
                .isThrownBy(journals::open)
                .withMessage("the owner of these journals has stopped");
    }

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(60, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void hasALimitOfOpenReaders() throws IOException {
        List<JournalReader> open = new ArrayList<>();
        for (int i = 0; i < Journals.MAX_OPEN; i++) {
            open.add(journals.open());
        }
        assertThatExceptionOfType(IllegalStateException.class)
                .isThrownBy(journals::open)
                .withMessage("16 readers of the journals are open, and at most as many are possible;"
                        + " close those that are not needed");
        open.get(3).close();
        open.get(3).close();
        journals.open();
    }

    @Test
    void takesNoQueriesOfOthers() throws IOException {
        CallQuery foreign = (CallQuery) Proxy.newProxyInstance(
                CallQuery.class.getClassLoader(),
                new Class<?>[] {CallQuery.class},
                (proxy, method, arguments) -> method.getName().equals("toString") ? "another query" : proxy);
        try (JournalReader reader = journals.open()) {
            assertThatExceptionOfType(IllegalArgumentException.class)
                    .isThrownBy(() -> reader.list(foreign, 0, call -> {}))
                    .withMessage("expected a query of a JournalReader, found another query");
            assertThatExceptionOfType(IllegalArgumentException.class)
                    .isThrownBy(() -> reader.list(reader.query(), -1, call -> {}))
                    .withMessage("newest must be at least 0, and is -1");
        }
    }

    @Test
    void needsAHome() {
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> JournalAccess.of(directory.resolve("none")))
                .withMessageContaining("none");
    }
}
