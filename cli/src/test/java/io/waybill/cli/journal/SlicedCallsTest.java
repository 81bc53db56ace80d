package io.waybill.cli.journal;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.cli.Commands;
import io.waybill.cli.command.Surroundings;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.StringTokenizer;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Slices as what the commands read: listed, shown, exported, verified and compared like the home that they were made of. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class SlicedCallsTest {

    private static final int LARGE = 100_000;

    @TempDir
    Path temporary;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();
    private Path home;
    private Path slice;
    private String failed;

    @BeforeEach
    void record() throws IOException {
        home = temporary.resolve("home");
        slice = temporary.resolve("calls.slice");
        failed = record(home, "or not to be", (byte) 7);
        makeSlice(home, "full", slice);
    }

    /** Calls of a worker to another one, with an archived tensor and with an error, whose id is returned. */
    private static String record(Path home, String text, byte filling) throws IOException {
        try (Worker callee = Waybill.connect(home, "callee")
                        .with("text.count", (message, outbox) -> {
                            int words = new StringTokenizer(message.text("text")).countTokens();
                            if (words == 0) {
                                if (filling == 7) {
                                    throw new IllegalStateException("no words");
                                }
                                throw new RejectedMessageException(ErrorCode.REFUSED, "no words");
                            }
                            outbox.response().int64("words", words);
                        })
                        .with(
                                "tensor.size",
                                (message, outbox) -> outbox.response()
                                        .int64(
                                                "bytes",
                                                message.tensor("x").storage().sizeBytes()))
                        .join();
                Worker app = Waybill.connect(home, "app").join()) {
            assertThat(callee.info().id()).isZero();
            app.call(count("to be")).close();
            app.call(count(text)).close();
            Storage bytes = app.buffers().allocate(LARGE);
            for (int i = 0; i < LARGE; i++) {
                bytes.bytes(0, LARGE).put(i, filling);
            }
            Request request = Request.operation("callee", "tensor.size");
            request.body().tensor("x", Tensor.contiguous(DType.UINT8, new long[] {LARGE}, bytes));
            app.call(request).close();
            bytes.release();
            try (Response none = app.call(count(""))) {
                throw new AssertionError("a call that should fail gave " + none);
            } catch (CallException e) {
                return MessageId.text(MessageId.of(app.info().id(), 3));
            }
        }
    }

    private static Request count(String text) {
        Request request = Request.operation("callee", "text.count");
        request.body().text("text", text);
        return request;
    }

    private void makeSlice(Path of, String payloads, Path to) {
        succeeds("journal", "slice", "--home", of.toString(), "--payloads", payloads, "--out", to.toString());
    }

    private int run(String... args) {
        out.getBuffer().setLength(0);
        err.getBuffer().setLength(0);
        return Commands.run(
                new Surroundings(
                        new PrintWriter(out),
                        new PrintWriter(err),
                        Surroundings.Watcher.PROGRAM,
                        home,
                        Optional.empty(),
                        temporary,
                        "17",
                        Map.of()),
                args);
    }

    private String succeeds(String... args) {
        assertThat(run(args)).as(err.toString()).isZero();
        return out.toString();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "--limit=2",
                "--error",
                "--error=TIMED_OUT",
                "--where=text=to be",
                "--response=no words",
                "--operation=tensor.*",
                "--from=app",
                "--to=app",
                "--slower-than=1us",
                "--since=1h",
                "--until=1h"
            })
    void listsWhatTheHomeLists(String option) {
        String[] ofHome =
                option.isEmpty() ? new String[] {"journal", "list"} : new String[] {"journal", "list", option};
        String expected = succeeds(ofHome) + err;
        String[] ofSlice = List.of(ofHome).toArray(new String[ofHome.length + 2]);
        ofSlice[ofHome.length] = "--slice";
        ofSlice[ofHome.length + 1] = slice.toString();
        assertThat(succeeds(ofSlice) + err).isEqualTo(expected).isNotBlank();
    }

    @Test
    void showsAMessage() {
        String expected = succeeds("journal", "show", failed);
        String shown = succeeds("journal", "show", failed, "--slice", slice.toString());
        assertThat(shown.replaceAll("(?m)^  at .*$", "")).isEqualTo(expected.replaceAll("(?m)^  at .*$", ""));
        assertThat(shown)
                .contains("error    HANDLER_FAILED")
                .containsPattern("  at       1-app/requests/[-0-9]+\\.cq4, record [0-9]+\n");
        assertThat(succeeds("journal", "show", failed, "--slice", slice.toString(), "--json"))
                .contains("\"operation\" : \"text.count\"", "\"file\" : \"")
                .doesNotContain("\"offset\"");
        assertThat(run("journal", "show", "1.99", "--slice", slice.toString())).isEqualTo(1);
        assertThat(err.toString()).contains("no message 1.99 in " + slice).hasLineCount(1);
    }

    @Test
    void drawsACall() throws IOException {
        Path page = temporary.resolve("call.html");
        succeeds("journal", "trace", failed, "--slice", slice.toString(), "--out", page.toString());
        assertThat(Files.readString(page)).contains("text.count -&gt; callee");
    }

    @Test
    void exportsCallsAndTensors() throws IOException {
        Path ofHome = temporary.resolve("home-export");
        Path ofSlice = temporary.resolve("slice-export");
        String expected = succeeds("journal", "export", "--out", ofHome.toString());
        String exported = succeeds("journal", "export", "--slice", slice.toString(), "--out", ofSlice.toString());
        assertThat(exported.replace(ofSlice.toString(), ""))
                .isEqualTo(expected.replace(ofHome.toString(), ""))
                .startsWith("4 calls, 1 tensors in ");
        String tensor = "tensors/1.2-request-0.npy";
        assertThat(ofSlice.resolve(tensor)).hasSameBinaryContentAs(ofHome.resolve(tensor));
        assertThat(Files.readString(ofSlice.resolve("calls.jsonl")))
                .contains("\"kept\":\"slice\",\"crc32c\":\"", "\"file\":\"" + tensor + "\"")
                .hasLineCount(4);
    }

    @Test
    void verifiesTensorsToo() throws IOException {
        assertThat(succeeds("journal", "verify", "--slice", slice.toString()))
                .isEqualTo("8 records in 2 journals: no damage, 0 requests without a response\n");
        byte[] bytes = Files.readAllBytes(slice);
        bytes[tensorIn(bytes)] ^= 1;
        Files.write(slice, bytes);
        assertThat(run("journal", "verify", "--slice", slice.toString())).isEqualTo(1);
        assertThat(out.toString())
                .containsPattern("damage: 1-app requests calls.slice:0: .*tensors/1\\.2\\.request\\.0: expected")
                .endsWith("8 records in 2 journals: 1 damages, 0 requests without a response\n");
    }

    /** Returns where the tensor lies, which is the only run of so many equal bytes. */
    private static int tensorIn(byte[] bytes) {
        int run = 0;
        for (int i = 0; i < bytes.length; i++) {
            run = bytes[i] == 7 ? run + 1 : 0;
            if (run == LARGE / 2) {
                return i;
            }
        }
        throw new AssertionError("the slice does not have the tensor");
    }

    @ParameterizedTest
    @ValueSource(strings = {"digest", "none"})
    void saysWhatASliceWithoutPayloadsLacks(String payloads) {
        Path without = temporary.resolve("without.slice");
        makeSlice(home, payloads, without);
        assertThat(succeeds("journal", "list", "--operation", "text.count", "--slice", without.toString()))
                .contains("text.count", "error HANDLER_FAILED")
                .hasLineCount(4);
        assertThat(succeeds("journal", "show", "1.2", "--slice", without.toString()))
                .contains("left out of the slice" + (payloads.equals("digest") ? "; its SHA-256: " : ""));
        assertThat(run("journal", "list", "--where", "text=to be", "--slice", without.toString()))
                .isEqualTo(1);
        assertThat(err.toString())
                .contains("no call is found by what it carries", "was made with --payloads " + payloads)
                .hasLineCount(1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"full", "digest", "none"})
    void comparesWithASliceOfTheSameCalls(String payloads) {
        Path other = temporary.resolve("other.slice");
        makeSlice(home, payloads, other);
        assertThat(succeeds("journal", "compare", slice.toString(), other.toString()))
                .isEqualTo("4 calls are the same, 0 differ, 0 are only in " + slice + ", 0 only in " + other + "\n");
        assertThat(err.toString().isEmpty()).isEqualTo(!payloads.equals("none"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"full", "digest"})
    void namesTheCallsThatDiffer(String payloads) throws IOException {
        Path otherHome = temporary.resolve("other");
        record(otherHome, "that is the question", (byte) 8);
        Path other = temporary.resolve("other.slice");
        makeSlice(otherHome, payloads, other);
        assertThat(run("journal", "compare", slice.toString(), other.toString()))
                .isEqualTo(1);
        assertThat(out.toString())
                .isEqualTo("1.1 text.count: request: another payload\n"
                        + "1.2 tensor.size: request: storage 0: other bytes\n"
                        + "1.3 text.count: response: EXCEPTION HANDLER_FAILED, and EXCEPTION REFUSED\n"
                        + "1 calls are the same, 3 differ, 0 are only in " + slice + ", 0 only in " + other + "\n");
        assertThat(run("journal", "compare", "--json", slice.toString(), other.toString()))
                .isEqualTo(1);
        assertThat(out.toString())
                .contains(
                        "{\"id\":\"1.2\",\"operation\":\"tensor.size\",\"relation\":\"different\"",
                        "{\"same\":1,\"different\":3,\"only_first\":0,\"only_second\":0,\"has_contents\":true}");
    }

    @Test
    void namesTheCallsThatOneOfThemLacks() {
        Path some = temporary.resolve("some.slice");
        succeeds("journal", "slice", "--operation", "text.*", "--out", some.toString());
        assertThat(run("journal", "compare", slice.toString(), some.toString())).isEqualTo(1);
        assertThat(out.toString())
                .isEqualTo("1.2 tensor.size: only in " + slice + "\n3 calls are the same, 0 differ, 1 are only in "
                        + slice + ", 0 only in " + some + "\n");
        assertThat(run("journal", "compare", some.toString(), slice.toString())).isEqualTo(1);
        assertThat(out.toString()).startsWith("1.2 tensor.size: only in " + slice + "\n");
    }

    @Test
    void refusesWhatIsNoSlice() throws IOException {
        Path text = Files.writeString(temporary.resolve("text"), "no slice");
        for (String[] wrong : new String[][] {
            {"journal", "list", "--slice", text.toString()},
            {"journal", "list", "--slice", temporary.resolve("none").toString()},
            {"journal", "verify", "--slice", text.toString()},
            {"journal", "compare", slice.toString(), text.toString()},
            {"journal", "list", "--slice", slice.toString(), "--home", home.toString()}
        }) {
            assertThat(run(wrong)).as(String.join(" ", wrong)).isNotZero();
            assertThat(err.toString()).hasLineCount(1).containsAnyOf("slice", "exclude each other");
        }
    }
}
