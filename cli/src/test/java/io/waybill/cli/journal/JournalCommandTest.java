package io.waybill.cli.journal;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Invocation;
import io.waybill.api.Request;
import io.waybill.api.Value;
import io.waybill.api.context.CallContext;
import io.waybill.api.handler.MessageHandler;
import io.waybill.cli.Commands;
import io.waybill.cli.command.Surroundings;
import io.waybill.home.Home;
import io.waybill.host.Host;
import io.waybill.query.stored.Payload;
import io.waybill.wire.Observations;
import io.waybill.wire.OptionalFields;
import io.waybill.worker.Waybill;
import io.waybill.worker.Worker;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
class JournalCommandTest {

    private static final int CALLS = 40;
    private static final Pattern REQUESTS_OF_CALLER = Pattern.compile(
            "\"name\" : \"cli\".*?\"queue\" : \"requests\",\\s*\"records\" : (\\d+),.*?\"lost\" : (\\d+)",
            Pattern.DOTALL);

    @TempDir
    Path temporary;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(String... args) {
        return Commands.run(
                new Surroundings(
                        new PrintWriter(out),
                        new PrintWriter(err),
                        Surroundings.Watcher.PROGRAM,
                        temporary.resolve("home"),
                        Optional.empty(),
                        temporary,
                        "17",
                        Map.of()),
                args);
    }

    private void makeHome() throws Exception {
        Home.open(temporary.resolve("home"), Host.real());
    }

    @Test
    void saysThatThereIsNoHome() {
        assertThat(run("journal", "list")).isEqualTo(1);
        assertThat(err.toString()).contains("no home at").hasLineCount(1);
    }

    @Test
    void saysThatThereIsNoSuchMessage() throws Exception {
        makeHome();
        assertThat(run("journal", "show", "3.1041")).isEqualTo(1);
        assertThat(err.toString()).contains("no message 3.1041").hasLineCount(1);
    }

    @Test
    void refusesWhatIsNoId() throws Exception {
        makeHome();
        assertThat(run("journal", "show", "first")).isEqualTo(2);
        assertThat(err.toString()).contains("worker.counter").hasLineCount(1);
    }

    @Test
    void refusesAnUnknownOutcomeTypeAndTime() throws Exception {
        makeHome();
        assertThat(run("journal", "list", "--outcome", "fine")).isEqualTo(2);
        assertThat(run("journal", "list", "--type", "NO_SUCH_CALL")).isEqualTo(2);
        assertThat(run("journal", "list", "--since", "yesterday")).isEqualTo(2);
        assertThat(run("journal", "list", "--from", "nobody")).isEqualTo(1);
        assertThat(err.toString()).hasLineCount(4);
    }

    @Test
    void refusesWhatSelectsNothing() throws Exception {
        makeHome();
        assertThat(run("journal", "list", "--id", "3.9..3.1")).isEqualTo(2);
        assertThat(run("journal", "list", "--id", "3.9..")).isEqualTo(2);
        assertThat(run("journal", "list", "--parent", "first")).isEqualTo(2);
        assertThat(run("journal", "list", "--slower-than", "10")).isEqualTo(2);
        assertThat(run("journal", "tail", "--outcome", "none")).isEqualTo(2);
        assertThat(run("journal", "stats", "--outcome", "ok")).isEqualTo(2);
        assertThat(run("journal", "list", "--where", "amount")).isEqualTo(2);
        assertThat(run("journal", "list", "--error", "NO_SUCH")).isEqualTo(2);
        assertThat(run("journal", "list", "--error", "--outcome", "ok")).isEqualTo(2);
        assertThat(run("journal", "list", "--control", "--type", "NAMED_CALL")).isEqualTo(2);
        assertThat(err.toString()).hasLineCount(10).contains("the first id is after the last: 3.9..3.1");
    }

    @Test
    void takesEverySelection() throws Exception {
        makeHome();
        assertThat(run(
                        "journal",
                        "list",
                        "--id=3.1..3.9",
                        "--parent=4.1",
                        "--type=NAMED_CALL",
                        "--operation=text.*",
                        "--since=10m",
                        "--until=2100-01-01",
                        "--outcome=error",
                        "--where=amount=1500",
                        "--where=text=a=b",
                        "--error=TIMED_OUT",
                        "--slower-than=10ms"))
                .isZero();
        assertThat(err.toString()).isEqualTo("No call on record matches.\n");
        assertThat(run("journal", "list", "--control", "--error")).isZero();
        assertThat(run("journal", "list", "--json")).isZero();
        assertThat(err.toString()).hasLineCount(3);
        assertThat(run("journal", "tail", "--id=3.1", "--outcome=error", "--slower-than=1us"))
                .isZero();
        assertThat(err.toString()).hasLineCount(3);
    }

    @Test
    void findsAnEmptyHomeWhole() throws Exception {
        makeHome();
        assertThat(run("journal", "verify", "--json")).isZero();
        assertThat(out.toString()).contains("\"whole\":true").hasLineCount(1);
    }

    @Test
    void endsWithOneWhenAFileIsGoneAndNamesItsOwner() throws Exception {
        makeHome();
        Home home = Home.open(temporary.resolve("home"), Host.real());
        home.join("ps0").close();
        assertThat(run("journal", "verify")).isZero();
        Files.delete(temporary.resolve("home/workers/0-ps0/cursors"));
        assertThat(run("journal", "verify")).isEqualTo(1);
        assertThat(out.toString()).contains("damage: 0-ps0 cursors:").contains("1 damages");
        assertThat(run("journal", "verify", "--json")).isEqualTo(1);
        assertThat(out.toString()).contains("\"whole\":false");
    }

    @Test
    void slicesIntoANewFileOutsideOfTheHome() throws Exception {
        makeHome();
        Path slice = temporary.resolve("calls.slice");
        assertThat(run("journal", "slice", "--out", slice.toString(), "--payloads", "digest"))
                .isZero();
        assertThat(out.toString()).contains("0 calls and 0 that they need").hasLineCount(1);
        assertThat(slice).isRegularFile();
        assertThat(run("journal", "slice", "--out", slice.toString())).isEqualTo(1);
        assertThat(run(
                        "journal",
                        "slice",
                        "--out",
                        temporary.resolve("home/calls.slice").toString()))
                .isEqualTo(1);
        assertThat(run(
                        "journal",
                        "slice",
                        "--out",
                        temporary.resolve("no/calls.slice").toString()))
                .isEqualTo(1);
        assertThat(run("journal", "slice", "--out", slice + "2", "--payloads", "some"))
                .isEqualTo(2);
        assertThat(run("journal", "slice")).isEqualTo(2);
        assertThat(err.toString()).hasLineCount(5).contains("is there already", "lies in the home", "is no directory");
    }

    @Test
    void salvagesIntoANewHomeAndRefusesAnOldOne() throws Exception {
        makeHome();
        Path out = temporary.resolve("new");
        assertThat(run("journal", "salvage", "--out", out.toString(), "--json")).isZero();
        assertThat(this.out.toString()).contains("\"whole\" : true");
        assertThat(run("journal", "verify", "--home", out.toString())).isZero();
        assertThat(run("journal", "salvage", "--out", out.toString())).isEqualTo(1);
        assertThat(run("journal", "salvage", "--out", out + "2", "--worker", "nobody"))
                .isEqualTo(1);
        assertThat(run("journal", "salvage")).isEqualTo(2);
        assertThat(err.toString()).hasLineCount(3).contains("is not empty", "no worker nobody", "--out");
    }

    @Test
    void saysHowManyRecordsASalvageHasLost() throws Exception {
        Path home = temporary.resolve("home");
        MessageHandler handler = (message, outbox) -> outbox.respond(Value.of(1));
        try (Worker callee =
                        Waybill.connect(home, "ps0").with("text.count", handler).join();
                Worker caller = Waybill.connect(home, "cli").join()) {
            for (int i = 0; i < CALLS; i++) {
                caller.call(Request.operation(callee.info().name(), "text.count"))
                        .close();
            }
        }
        try (DirectoryStream<Path> files = Files.newDirectoryStream(home.resolve("workers/1-cli/requests"), "*.cq4")) {
            damageRecords(files.iterator().next());
        }
        assertThat(run("journal", "salvage", "--out", temporary.resolve("new").toString(), "--json"))
                .isZero();
        Matcher requests = REQUESTS_OF_CALLER.matcher(this.out.toString());
        assertThat(requests.find()).as(this.out.toString()).isTrue();
        int lost = Integer.parseInt(requests.group(2));
        assertThat(lost)
                .as("records under a damage of several")
                .isGreaterThan(1)
                .isLessThan(CALLS);
        assertThat(Integer.parseInt(requests.group(1)) + lost)
                .as("records and lost records")
                .isEqualTo(CALLS);
    }

    /** Overwrites some records in the middle of those that there are. */
    private static void damageRecords(Path file) throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        String text = new String(bytes, StandardCharsets.ISO_8859_1);
        int first = text.indexOf("text.count");
        int last = text.lastIndexOf("text.count");
        assertThat(first).isPositive().isLessThan(last);
        int step = (last - first) / (CALLS - 1);
        Arrays.fill(bytes, first + 8 * step, first + 11 * step, (byte) 0x5a);
        Files.write(file, bytes);
    }

    @Test
    void saysAfterASalvageThatWholeFilesAreMissing() throws Exception {
        Path home = temporary.resolve("home");
        MessageHandler handler = (message, outbox) -> outbox.respond(Value.of(1));
        try (Worker callee =
                        Waybill.connect(home, "ps0").with("text.count", handler).join();
                Worker caller = Waybill.connect(home, "cli").join()) {
            caller.call(Request.operation(callee.info().name(), "text.count")).close();
        }
        try (DirectoryStream<Path> files = Files.newDirectoryStream(home.resolve("workers/1-cli/requests"), "*.cq4")) {
            for (Path file : files) {
                Files.delete(file);
            }
        }
        Path out = temporary.resolve("new");
        assertThat(run("journal", "salvage", "--out", out.toString())).isZero();
        assertThat(this.out.toString()).contains(", all that was there; the damaged home lacks more, in ");
        assertThat(run("journal", "salvage", "--out", out + "2", "--json")).isZero();
        assertThat(this.out.toString()).contains("\"whole\" : false").doesNotContain("\"missed\" : 0");
    }

    @Test
    void showsAnExampleInEachHelp() {
        for (String subcommand : List.of("show", "list", "tail", "stats", "export", "verify", "salvage")) {
            assertThat(run("journal", subcommand, "--help")).isZero();
            assertThat(out.toString()).contains("waybill journal " + subcommand);
        }
    }

    @Test
    void cutsLongPayloadsAndKeepsControlCharactersFromTheTerminal() {
        Invocation call = new Invocation(
                "text.count", List.of(Value.of(7)), Map.of("text", Value.of("\u001b[31m" + "x".repeat(100_000))));
        Payload payload = new Payload(
                Optional.of(call),
                Optional.empty(),
                Optional.empty(),
                List.of(),
                new byte[0],
                100_100,
                Observations.NONE,
                CallContext.EMPTY,
                OptionalFields.NONE,
                0,
                "");
        String shown = PayloadText.of(payload, 200);
        assertThat(shown)
                .startsWith("text.count(7, text='\\u001b[31mxxx")
                .hasSizeLessThan(210)
                .endsWith("…");
        assertThat(shown).doesNotContain("\u001b");
    }
}
